package training_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/evaluation/training"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

type config struct {
	name string
	f    func(o *training.RelationOptions)
}

func TestCV(t *testing.T) {
	pairs, _ := corpus.Pairs()
	pairs = slices.DeleteFunc(slices.Clone(pairs), func(p corpus.Pair) bool { return p.Split() == corpus.Heldout })
	var batches []string
	for _, p := range pairs {
		if !slices.Contains(batches, p.Batch) {
			batches = append(batches, p.Batch)
		}
	}
	slices.Sort(batches)
	var configs []config
	if f := os.Getenv("CV"); f != "" {
		for _, line := range strings.Split(f, ";") {
			configs = append(configs, config{line, func(o *training.RelationOptions) {
				v, rest, ok := strings.Cut(line, ":")
				clear(relation.Variant)
				relation.OuterN = 0
				if ok && !strings.HasPrefix(v, "\"") {
					for _, x := range strings.Split(v, "+") {
						relation.Variant[x] = true
						fmt.Sscanf(x, "outer%d", &relation.OuterN)
					}
					line = rest
				}
				if err := json.Unmarshal([]byte("{"+line+"}"), o); err != nil {
					t.Fatal(err)
				}
			}})
		}
	}
	for _, c := range configs {
		start := time.Now()
		o := training.RelationDefaults()
		c.f(&o)
		var scores []float64
		var changes []bool
		right := 0
		var firsts, strange, mosts, owns []float64
		var ownc []bool
		for fold := range 4 {
			var tr, te []corpus.Pair
			for _, p := range pairs {
				if slices.Index(batches, p.Batch)%4 == fold {
					te = append(te, p)
				} else {
					tr = append(tr, p)
				}
			}
			m, r, err := training.RelationOn(tr, te, o)
			if err != nil {
				t.Fatal(err)
			}
			if fold == 0 {
				b, _ := m.Encode()
				fmt.Println(r.Features, r.Pairs, len(b), m.Thresholds(), string(b[8:300]))
			}
			var ls, ss []relation.Reading
			for _, p := range te {
				l, s := p.Statements()
				ls, ss = append(ls, m.Read(l)), append(ss, m.Read(s))
			}
			for i, p := range te {
				rel := m.Compare(ls[i], ss[i])
				if i%3 == 0 {
					most := 0.0
					bank := []relation.Reading{ss[i]}
					for k := i + 1; len(bank) < 20 && k < i+len(te); k++ {
						if q := te[k%len(te)]; q.Batch == p.Batch && q.Stored != p.Stored {
							bank = append(bank, ss[k%len(te)])
						}
					}
					for k, r := range m.Among(ls[i], bank) {
						if k == 0 {
							owns = append(owns, r.Change())
							ownc = append(ownc, p.Relation().Changes())
							continue
						}
						strange = append(strange, r.Change())
						most = max(most, r.Change())
					}
					if p.Relation().Changes() {
						z0, top := m.Logits(ls[i], bank[0])[relation.Met], 1.0
						for _, b := range bank[1:] {
							if m.Logits(ls[i], b)[relation.Met] >= z0 {
								top = 0
							}
						}
						firsts = append(firsts, top)
					}
					mosts = append(mosts, most)
				}
				scores = append(scores, rel.Change())
				changes = append(changes, p.Relation().Changes())
				if rel.Likeliest() == p.Relation() {
					right++
				}
			}
		}
		fmt.Printf("%-20s acc %.3f auc %.4f", c.name, float64(right)/float64(len(scores)), auc(scores, changes))
		for _, f := range []float64{.02, .04, .08} {
			var neg []float64
			for i, s := range scores {
				if !changes[i] {
					neg = append(neg, s)
				}
			}
			slices.Sort(neg)
			at := neg[len(neg)-1-int(f*float64(len(neg)))]
			n, hit := 0, 0
			for i, s := range scores {
				if changes[i] {
					n++
					if s > at {
						hit++
					}
				}
			}
			fmt.Printf(" r@%g %.3f", f*100, float64(hit)/float64(n))
		}
		fmt.Printf(" first %.3f", above(firsts, .5))
		for _, at := range []float64{.2, .3, .4, .5, .6} {
			hit, n, fl, no := 0, 0, 0, 0
			for i, x := range owns {
				if ownc[i] {
					n++
					if x >= at {
						hit++
					}
				} else {
					no++
					if x >= at {
						fl++
					}
				}
			}
			fmt.Printf(" | among@%g r %.3f f %.3f s %.4f st %.3f", at, float64(hit)/float64(n), float64(fl)/float64(no), above(strange, at), above(mosts, at))
		}
		fmt.Println("", time.Since(start))
	}
}

func above(x []float64, at float64) float64 {
	n := 0
	for _, v := range x {
		if v > at {
			n++
		}
	}
	return float64(n) / float64(len(x))
}

func auc(x []float64, y []bool) float64 {
	idx := make([]int, len(x))
	for i := range idx {
		idx[i] = i
	}
	slices.SortFunc(idx, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	sum, neg, pos := 0.0, 0.0, 0.0
	for _, i := range idx {
		if y[i] {
			sum += neg
			pos++
		} else {
			neg++
		}
	}
	return sum / neg / pos
}
