package windowtest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// model is the contract in the simplest form.
type model struct {
	limits  window.Limits
	kept    []window.Kept // until is zero for turns that are not kept
	retired map[string]bool
	newest  time.Time
}

func (r *model) add(turns []memory.Turn, until time.Time) {
	for _, t := range turns {
		if r.retired[t.ID] {
			continue
		}
		at := slices.IndexFunc(r.kept, func(k window.Kept) bool { return k.Turn.ID == t.ID })
		if at >= 0 {
			if until.After(r.kept[at].Until) {
				r.kept[at].Until = until
			}
			continue
		}
		r.kept = append(r.kept, window.Kept{Turn: t, Until: until})
		if t.Time.After(r.newest) {
			r.newest = t.Time
		}
	}
	slices.SortFunc(r.kept, func(a, b window.Kept) int {
		return cmp.Or(a.Turn.Time.Compare(b.Turn.Time), cmp.Compare(a.Turn.ID, b.Turn.ID))
	})
	r.kept = slices.DeleteFunc(r.kept, func(k window.Kept) bool {
		old, over := k.Turn.Time.Before(r.newest.Add(-r.limits.Age)), !k.Until.IsZero() && k.Until.Before(r.newest)
		return old || over
	})
	for r.fallsOut(false) || r.fallsOut(true) {
		continue
	}
}

// fallsOut removes the oldest turn of a kind, kept or not, if its kind exceeds the budget.
func (r *model) fallsOut(timed bool) bool {
	words, oldest, n := 0, -1, 0
	for i, k := range r.kept {
		if k.Until.IsZero() == timed {
			continue
		}
		if oldest < 0 {
			oldest = i
		}
		words += window.Words(k.Turn)
		n++
	}
	if words <= r.limits.Words || n < 2 {
		return false
	}
	r.kept = slices.Delete(r.kept, oldest, oldest+1)
	return true
}

func (r *model) retire(turnIDs []string) {
	for _, id := range turnIDs {
		r.retired[id] = true
	}
	r.kept = slices.DeleteFunc(slices.Clone(r.kept), func(k window.Kept) bool { return r.retired[k.Turn.ID] })
}

// ids returns the ids of the turns at a time.
func (r *model) ids(at time.Time) []string {
	out := []string{}
	for _, k := range r.kept {
		if k.Until.IsZero() || at.IsZero() || !k.Until.Before(at) {
			out = append(out, k.Turn.ID)
		}
	}
	return out
}

// model compares the window with the model over random calls. Every turn has a fixed time, as in the contracts.
func (s *suite) model(t *testing.T) {
	limits := window.Limits{Words: 12, Age: 10 * time.Second, Idle: time.Hour}
	w := s.factory(t, limits).Window
	drawTurn := rapid.Custom(func(r *rapid.T) memory.Turn {
		n := rapid.IntRange(0, 60).Draw(r, "turn")
		// Three turns share a second, so that ties are common.
		out := turn(fmt.Sprintf("t%02d", n), time.Duration(n/3)*time.Second)
		out.Text += strings.Repeat(" more", n%5)
		return out
	})
	rapid.Check(t, func(r *rapid.T) {
		scope, want := s.scope(), &model{limits: limits, retired: map[string]bool{}}
		r.Repeat(map[string]func(*rapid.T){
			"append": func(r *rapid.T) {
				batch := rapid.SliceOfN(drawTurn, 1, 4).Draw(r, "batch")
				mustAppend(r, w, scope, batch...)
				want.add(batch, time.Time{})
			},
			"keep": func(r *rapid.T) {
				batch := rapid.SliceOfN(drawTurn, 1, 2).Draw(r, "batch")
				until := time.Duration(rapid.IntRange(0, 20).Draw(r, "until")) * time.Second
				mustKeep(r, w, scope, until, batch...)
				want.add(batch, base.Add(until))
			},
			"retire": func(r *rapid.T) {
				gone := want.ids(time.Time{})
				if len(gone) == 0 {
					return
				}
				gone = rapid.SliceOfN(rapid.SampledFrom(gone), 1, 2).Draw(r, "ids")
				mustRetire(r, w, scope, gone...)
				want.retire(gone)
			},
			"": func(r *rapid.T) {
				at := base.Add(time.Duration(rapid.IntRange(0, 20).Draw(r, "at")) * time.Second)
				for _, at := range []time.Time{{}, at} {
					if got := ids(recentAt(r, w, scope, at)); !reflect.DeepEqual(got, want.ids(at)) {
						r.Fatalf("window is %v at %s, want %v", got, at, want.ids(at))
					}
				}
			},
		})
	})
}
