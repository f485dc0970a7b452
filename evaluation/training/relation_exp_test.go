package training

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

type res struct {
	a      corpus.Among
	best   int
	change float64
	total  float64
}

func run(m *relation.Model, sets []corpus.Among) []res {
	out := make([]res, len(sets))
	onAll(len(sets), func(i int) {
		r := res{a: sets[i], best: -1}
		for j, x := range m.Judge(sets[i].Later, sets[i].Stored) {
			c := x.Change()
			r.total += c
			if c > r.change {
				r.best, r.change = j, c
			}
		}
		out[i] = r
	})
	return out
}

// at 4% false
func tell(name string, rs []res, fixed float64) float64 {
	var non []float64
	changes := 0
	for _, r := range rs {
		if r.a.Label.Changes() {
			changes++
		} else {
			non = append(non, r.change)
		}
	}
	slices.SortFunc(non, func(a, b float64) int { return cmp.Compare(b, a) })
	at := func(t float64) string {
		right, wrong, fp := 0, 0, 0
		for _, r := range rs {
			if r.change < t {
				continue
			}
			switch {
			case !r.a.Label.Changes():
				fp++
			case r.best == r.a.Looks:
				right++
			default:
				wrong++
			}
		}
		return fmt.Sprintf("right %.1f wrong %.1f false %.1f", 100*float64(right)/float64(changes), 100*float64(wrong)/float64(changes), 100*float64(fp)/float64(len(non)))
	}
	t4 := non[int(0.04*float64(len(non)))]
	t10 := non[int(0.10*float64(len(non)))]
	fmt.Printf("%-28s n=%d  @4%%(%.2f): %s | @10%%(%.2f): %s | fixed: %s\n", name, len(rs), t4, at(t4+1e-9), t10, at(t10+1e-9), at(fixed))
	return t4
}

func TestExp(t *testing.T) {
	if os.Getenv("EXP") == "" {
		t.Skip()
	}
	pairs, err := corpus.Pairs()
	if err != nil {
		t.Fatal(err)
	}
	o := RelationDefaults()
	get := func(name string, to *float64) {
		if s := os.Getenv(name); s != "" {
			fmt.Sscanf(s, "%g", to)
		}
	}
	get("COST", &o.Cost)
	get("NUM", &o.Numbers)
	for i, n := range []string{"LW", "LL", "LO", "LS", "LA", "LC"} {
		get(n, &o.Lengths[i])
	}
	var f float64
	if get("HOLD", &f); f > 0 {
		o.Holders = int(f)
	}
	if f = 0; true {
		get("STR", &f)
		if f > 0 {
			o.Strangers = int(f)
		}
	}
	f = 0
	if get("GROUPS", &f); f > 0 {
		o.Groups = int(f)
	}
	choose, held := corpus.Of(pairs, corpus.Choose), corpus.Of(pairs, corpus.Heldout)
	tb, _ := corpus.Banks(corpus.Train)
	cb, _ := corpus.Banks(corpus.Choose)
	hb, _ := corpus.Banks(corpus.Heldout)
	f = -1
	if get("LIVES", &f); f >= 0 {
		o.Lives = int(f)
	}
	f = 0
	if get("ROUNDS", &f); f > 0 {
		o.Rounds = int(f)
	}
	sets, err := Statements(t.Context(), corpus.Train, o)
	if err != nil {
		t.Fatal(err)
	}
	csets, err := Statements(t.Context(), corpus.Choose, o)
	if err != nil {
		t.Fatal(err)
	}
	c := 0
	for _, x := range sets {
		if x.Batch == "lives" {
			c++
			if x.Label.Changes() && c%40 == 0 {
				fmt.Println(x.Label, x.Later.Text, "<=", x.Stored[0].Text)
			}
		}
	}
	fmt.Println("lives", c)
	start := time.Now()
	m, r, err := Relation(sets, csets, o)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("trained %.0fs features %d statements %d th %+v\n", time.Since(start).Seconds(), r.Features, r.Statements, m.Thresholds())
	if os.Getenv("TRAINED") != "" {
		tell("train banks", run(m, corpus.InBanks(tb)), 0.5)
	}
	tell("choose pairs alone", run(m, corpus.AmongStrangers(choose, 0, 1)), m.Thresholds().Certain)
	tell("choose pairs + 12", run(m, corpus.AmongStrangers(choose, 12, 2)), m.Thresholds().Certain)
	tell("choose banks", run(m, corpus.InBanks(cb)), m.Thresholds().Certain)
	if os.Getenv("ERR") != "" {
		rs := run(m, corpus.AmongStrangers(choose, 12, 2))
		rs = append(rs, run(m, corpus.InBanks(cb))...)
		slices.SortFunc(rs, func(a, b res) int { return cmp.Compare(b.change, a.change) })
		n := 0
		for _, r := range rs {
			if !r.a.Label.Changes() && n < 30 {
				n++
				fmt.Printf("FP %.2f %s | S: %s | N: %s\n", r.change, r.a.Kind, r.a.Stored[r.best].Text, r.a.Later.Text)
			}
		}
		n = 0
		for _, r := range slices.Backward(rs) {
			if r.a.Label.Changes() && n < 120 {
				n++
				if n%3 == 0 {
					fmt.Printf("FN %.2f %s | S: %s | N: %s\n", r.change, r.a.Kind, r.a.Stored[r.a.Looks].Text, r.a.Later.Text)
				}
			}
		}
	}
	if os.Getenv("HELD") != "" {
		tell("held pairs alone", run(m, corpus.AmongStrangers(held, 0, 1)), m.Thresholds().Certain)
		tell("held pairs + 12", run(m, corpus.AmongStrangers(held, 12, 2)), m.Thresholds().Certain)
		tell("held banks", run(m, corpus.InBanks(hb)), m.Thresholds().Certain)
	}
}
