package training_test

import (
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

func TestMLP(t *testing.T) {
	pairs, _ := corpus.Pairs()
	pairs = slices.DeleteFunc(slices.Clone(pairs), func(p corpus.Pair) bool { return p.Split() == corpus.Heldout })
	var batches []string
	for _, p := range pairs {
		if !slices.Contains(batches, p.Batch) {
			batches = append(batches, p.Batch)
		}
	}
	slices.Sort(batches)
	relation.Variant = map[string]bool{"skip": true, "skip3": true}
	for _, v := range strings.Split(os.Getenv("VAR"), "+") {
		relation.Variant[v] = true
	}
	o := training.RelationDefaults()
	cs := training.MLPs()
	start := time.Now()
	type acc struct {
		s []float64
		r int
	}
	sets := make([]acc, 1+2*len(cs)+1)
	var ch []bool
	for fold := range 4 {
		var tr, te []corpus.Pair
		for _, p := range pairs {
			if slices.Index(batches, p.Batch)%4 == fold {
				te = append(te, p)
			} else {
				tr = append(tr, p)
			}
		}
		lin, deep := training.Deep(tr, te, o, cs)
		put := func(k, i int, p [5]float64) {
			sets[k].s = append(sets[k].s, (p[3]+p[4])/(p[0]+p[1]+p[2]+p[3]+p[4]))
			b := 0
			for l := range p {
				if p[l] > p[b] {
					b = l
				}
			}
			if b == int(te[i].Relation()) {
				sets[k].r++
			}
		}
		for i, p := range te {
			ch = append(ch, p.Relation().Changes())
			put(0, i, lin[i])
			all := lin[i]
			for l := range all {
				all[l] *= float64(len(cs))
			}
			for k := range cs {
				put(1+2*k, i, deep[k][i])
				both := lin[i]
				for l := range both {
					both[l] += deep[k][i][l]
					all[l] += deep[k][i][l]
				}
				put(2+2*k, i, both)
			}
			put(len(sets)-1, i, all)
		}
	}
	for k, s := range sets {
		name := "lin"
		if k > 0 && k < len(sets)-1 {
			name = fmt.Sprintf("%v %+v", []string{"deep", "both"}[(k-1)%2], cs[(k-1)/2])
		} else if k > 0 {
			name = "all"
		}
		fmt.Printf("acc %.3f auc %.4f", float64(s.r)/float64(len(ch)), auc(s.s, ch))
		for _, f := range []float64{.02, .04, .08} {
			var neg []float64
			for i, x := range s.s {
				if !ch[i] {
					neg = append(neg, x)
				}
			}
			slices.Sort(neg)
			at := neg[len(neg)-1-int(f*float64(len(neg)))]
			n, hit := 0, 0
			for i, x := range s.s {
				if ch[i] {
					n++
					if x > at {
						hit++
					}
				}
			}
			fmt.Printf(" r@%g %.3f", 100*f, float64(hit)/float64(n))
		}
		fmt.Println(" ", name)
	}
	fmt.Println(time.Since(start))
}
