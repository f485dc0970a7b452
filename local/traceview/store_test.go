package traceview_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/local/traceview"
)

func span(traceN, n, parent int, name string, from, to int) traceview.Span {
	s := traceview.Span{
		TraceID: traceID(traceN), ID: spanID(n), Service: "booster", Name: name, Kind: "internal",
		Start: time.UnixMilli(int64(from)).UTC(), Duration: time.Duration(to-from) * time.Millisecond,
	}
	if parent != 0 {
		s.ParentID = spanID(parent)
	}
	return s
}

func names(nodes []traceview.Node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, fmt.Sprintf("%d %s %v", n.Depth, n.Name, n.Orphan))
	}
	return out
}

func TestSpansMayComeInAnyOrder(t *testing.T) {
	spans := []traceview.Span{
		span(1, 1, 0, "root", 0, 100), span(1, 2, 1, "early", 10, 20), span(1, 3, 1, "late", 30, 90),
		span(1, 4, 3, "inner", 40, 50), span(1, 5, 99, "lost", 5, 6),
	}
	want := []string{"0 root false", "1 early false", "1 late false", "2 inner false", "0 lost true"}
	rapid.Check(t, func(t *rapid.T) {
		store := traceview.NewStore(traceview.DefaultSpans)
		for _, s := range rapid.Permutation(spans).Draw(t, "order") {
			store.Add([]traceview.Span{s})
		}
		got, ok := store.Trace(traceID(1))
		if !ok || !slices.Equal(names(got.Nodes()), want) {
			t.Fatalf("got %q", names(got.Nodes()))
		}
	})
}

func TestCirclesOfParentsAreShownOnce(t *testing.T) {
	store := traceview.NewStore(traceview.DefaultSpans)
	store.Add([]traceview.Span{span(1, 1, 2, "a", 0, 1), span(1, 2, 1, "b", 1, 2), span(1, 3, 3, "self", 2, 3)})
	got, _ := store.Trace(traceID(1))
	if want := []string{"0 a true", "1 b false", "0 self true"}; !slices.Equal(names(got.Nodes()), want) {
		t.Errorf("got %q", names(got.Nodes()))
	}
}

// Each span is listed exactly once, below its parent if the parent exists.
func TestNodesListEverySpanOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "spans")
		store := traceview.NewStore(traceview.DefaultSpans)
		for i := 1; i <= n; i++ {
			parent := rapid.IntRange(0, n+2).Draw(t, "parent")
			store.Add([]traceview.Span{span(1, i, parent, "s", rapid.IntRange(0, 5).Draw(t, "start"), 9)})
		}
		got, _ := store.Trace(traceID(1))
		seen := map[string]int{}
		for _, node := range got.Nodes() {
			if depth, ok := seen[node.ParentID]; node.Depth > 0 && (!ok || depth != node.Depth-1) {
				t.Fatalf("span %s at depth %d is not below its parent", node.ID, node.Depth)
			}
			if _, twice := seen[node.ID]; twice {
				t.Fatalf("span %s is listed twice", node.ID)
			}
			seen[node.ID] = node.Depth
		}
		if len(seen) != n {
			t.Fatalf("%d of %d spans listed", len(seen), n)
		}
	})
}

func TestStoreNeverHoldsMoreThanItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		store := traceview.NewStore(limit)
		for range rapid.IntRange(0, 100).Draw(t, "adds") {
			store.Add([]traceview.Span{span(rapid.IntRange(1, 6).Draw(t, "trace"), rapid.IntRange(1, 30).Draw(t, "span"), 0, "s",
				0, 1)})
			traces, spans := store.Size()
			counted := 0
			for _, sum := range store.Traces(traceview.Filter{}) {
				counted += sum.Spans
			}
			if spans > limit || traces > limit || counted != spans {
				t.Fatalf("%d traces, %d spans, %d counted, limit %d", traces, spans, counted, limit)
			}
		}
	})
}

func TestTheTraceQuietForLongestMakesRoom(t *testing.T) {
	store := traceview.NewStore(3)
	store.Add([]traceview.Span{
		span(1, 1, 0, "one", 0, 1), span(2, 1, 0, "two", 5, 6), span(1, 2, 1, "one again", 7, 8),
		span(3, 1, 0, "three", 9, 10),
	})
	if _, ok := store.Trace(traceID(2)); ok {
		t.Error("the quiet trace is still there")
	}
	if got, ok := store.Trace(strings.ToUpper(traceID(1))); !ok || len(got.Spans) != 2 {
		t.Errorf("the busy trace has %d spans", len(got.Spans))
	}
}

func TestATraceLargerThanTheStoreIsCutAndSaysSo(t *testing.T) {
	store := traceview.NewStore(2)
	for i := range 5 {
		store.Add([]traceview.Span{span(1, i+1, 0, "s", i, i+1)})
	}
	got, ok := store.Trace(traceID(1))
	if !ok || len(got.Spans) != 2 || got.Dropped != 3 || !strings.Contains(traceview.Tree(got), "3 spans not kept") {
		t.Errorf("%d spans, %d dropped", len(got.Spans), got.Dropped)
	}
}

func TestResentSpansReplaceTheFirst(t *testing.T) {
	store := traceview.NewStore(traceview.DefaultSpans)
	store.Add([]traceview.Span{span(1, 1, 0, "first", 0, 1), span(1, 1, 0, "second", 0, 2)})
	got, _ := store.Trace(traceID(1))
	if _, spans := store.Size(); spans != 1 || got.Spans[0].Name != "second" {
		t.Errorf("%d spans, the first is %q", spans, got.Spans[0].Name)
	}
}

func TestTracesAreFilteredAndSorted(t *testing.T) {
	store := traceview.NewStore(traceview.DefaultSpans)
	failed := span(2, 1, 0, "Recall", 50, 60)
	failed.Error, failed.Service = true, "utilizer"
	store.Add([]traceview.Span{span(1, 1, 0, "extract", 0, 10), failed, span(3, 1, 0, "apply", 70, 80)})
	for name, c := range map[string]struct {
		filter traceview.Filter
		want   []string
	}{
		"all, latest first": {traceview.Filter{}, []string{"apply", "Recall", "extract"}},
		"limited":           {traceview.Filter{Limit: 1}, []string{"apply"}},
		"by name":           {traceview.Filter{Text: "recall"}, []string{"Recall"}},
		"by service":        {traceview.Filter{Text: "BOOST"}, []string{"apply", "extract"}},
		"by id":             {traceview.Filter{Text: traceID(1)}, []string{"extract"}},
		"with errors":       {traceview.Filter{Errors: true}, []string{"Recall"}},
		"none":              {traceview.Filter{Text: "apply", Errors: true}, nil},
	} {
		var got []string
		for _, sum := range store.Traces(c.filter) {
			got = append(got, sum.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTreeShowsLinksBothWaysAndFailures(t *testing.T) {
	store := traceview.NewStore(traceview.DefaultSpans)
	formed := span(1, 1, 0, "memory consolidate", 0, 1500)
	child := span(1, 2, 1, "apply\x1b[31m", 10, 12)
	child.Error, child.Message = true, "no\nbank"
	recall := span(2, 1, 0, "memory recall", 2000, 2004)
	recall.Service, recall.Links = "utilizer", []traceview.Link{{TraceID: traceID(1), SpanID: spanID(1)}}
	store.Add([]traceview.Span{child, formed, recall, span(1, 3, 9, "lost", 3, 3)})
	first, _ := store.Trace(traceID(1))
	want := "trace " + traceID(1) + "  1.50 s  3 spans  [booster]  1 error\n" +
		"  memory consolidate  (booster)  1.50 s\n" +
		"    <- trace " + traceID(2) + " span " + spanID(1) + "  memory recall  (utilizer)\n" +
		"    apply\\x1b[31m  (booster)  2.00 ms  ERROR: no\\nbank\n" +
		"  lost  (booster)  0 ns  parent " + spanID(9) + " missing\n"
	if got := traceview.Tree(first); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	second, _ := store.Trace(traceID(2))
	if got := traceview.Tree(second); !strings.Contains(got, "    -> trace "+traceID(1)+" span "+spanID(1)+"\n") {
		t.Errorf("got\n%s", got)
	}
	if got := traceview.Tree(traceview.Trace{ID: "x"}); got != "trace x: no spans\n" {
		t.Errorf("empty trace gives %q", got)
	}
}

func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	store := traceview.NewStore(50)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 50 {
				store.Add([]traceview.Span{span(i%9+1, worker*1000+i+1, 0, "s", i, i+1)})
				store.Traces(traceview.Filter{Text: "s"})
				store.Trace(traceID(i%9 + 1))
			}
		})
	}
	all.Wait()
	if _, spans := store.Size(); spans == 0 || spans > 50 {
		t.Errorf("%d spans held", spans)
	}
}
