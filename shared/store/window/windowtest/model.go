package windowtest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// model is the contract written down as plainly as possible.
type model struct {
	limits  window.Limits
	kept    []memory.Turn
	retired map[string]bool
	newest  time.Time
}

func (r *model) append(turns []memory.Turn) {
	for _, t := range turns {
		if r.retired[t.ID] || slices.Contains(ids(r.kept), t.ID) {
			continue
		}
		r.kept = append(r.kept, t)
		if t.Time.After(r.newest) {
			r.newest = t.Time
		}
	}
	slices.SortFunc(r.kept, func(a, b memory.Turn) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID))
	})
	for len(r.kept) > 0 && (len(r.kept) > r.limits.Turns || r.kept[0].Time.Before(r.newest.Add(-r.limits.Age))) {
		r.kept = r.kept[1:]
	}
}

func (r *model) retire(turnIDs []string) {
	for _, id := range turnIDs {
		r.retired[id] = true
	}
	r.kept = slices.DeleteFunc(slices.Clone(r.kept), func(t memory.Turn) bool { return r.retired[t.ID] })
}

// model compares the window with the model over random calls. Every turn has a time of
// its own for good, as in the contracts.
func (s *suite) model(t *testing.T) {
	limits := window.Limits{Turns: 4, Age: 10 * time.Second, Idle: time.Hour}
	w := s.factory(t, limits).Window
	drawTurn := rapid.Custom(func(r *rapid.T) memory.Turn {
		n := rapid.IntRange(0, 60).Draw(r, "turn")
		// Three turns share a second, so that ties are common.
		return turn(fmt.Sprintf("t%02d", n), time.Duration(n/3)*time.Second)
	})
	rapid.Check(t, func(r *rapid.T) {
		scope, want := s.scope(), &model{limits: limits, retired: map[string]bool{}}
		r.Repeat(map[string]func(*rapid.T){
			"append": func(r *rapid.T) {
				batch := rapid.SliceOfN(drawTurn, 1, 4).Draw(r, "batch")
				mustAppend(r, w, scope, batch...)
				want.append(batch)
			},
			"retire": func(r *rapid.T) {
				gone := ids(want.kept)
				if len(gone) == 0 {
					return
				}
				gone = rapid.SliceOfN(rapid.SampledFrom(gone), 1, 2).Draw(r, "ids")
				mustRetire(r, w, scope, gone...)
				want.retire(gone)
			},
			"": func(r *rapid.T) {
				if got := ids(recent(r, w, scope)); !reflect.DeepEqual(got, ids(want.kept)) {
					r.Fatalf("window is %v, want %v", got, ids(want.kept))
				}
			},
		})
	})
}
