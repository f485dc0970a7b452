package banktest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// filterCases test attributes and filters.
func filterCases() []testCase {
	return []testCase{
		{"attributes are kept with their entry, its versions and its turn", testAttributes},
		{"filters by each operator and type", testFilters},
		{"pages of a filter are full", testFilteredPages},
		{"searches with a filter are full", testFilteredSearch},
		{"filters match what Match says", testFiltersAsMatch},
		{"an entry with very much metadata is filtered like any other", testLongMetadata},
		{"filters that are none are terminal", testBadFilters},
		{"filters look at one user's entries alone", testFiltersIsolated},
	}
}

// attributes returns attributes of every type, including difficult values.
func attributes() memory.Attributes {
	return memory.Attributes{
		Metadata: map[string]any{
			"text": " \"é\"\n<b> ", "n": -0.125, "big": 9007199254740992.0, "yes": true, "no": false, "none": nil,
			"list": []any{"a", 1.0, []any{}, map[string]any{"in": "b"}}, "o": map[string]any{"p.q": map[string]any{}},
		},
		AgentID: "agent/1 ", AppID: "ÄPP", RunID: "r\n1", AliasOf: "0001",
	}
}

func testAttributes(t *testing.T, b bank.Bank) {
	scope := newScope()
	kept := attributes()
	first := entry(scope, 1, content(1))
	first.Attributes = kept
	next := successor(scope, 2, content(2), first)
	next.Attributes = memory.Attributes{Metadata: map[string]any{"text": "changed"}}
	write(t, b, scope, put(first))
	write(t, b, scope, memory.Write{
		Put: []memory.Memory{next}, Close: []memory.Closing{closing(first, memory.StatusSuperseded, epoch)},
		Turns: []memory.Turn{turn("t1")},
	})
	history, err := b.History(t.Context(), scope, next.ID)
	if err != nil || len(history) != 2 {
		t.Fatalf("History: %d entries, %v", len(history), err)
	}
	for i, want := range []memory.Memory{first, next} {
		if got := get(t, b, scope, want.ID); !reflect.DeepEqual(got.Attributes, want.Attributes) ||
			!reflect.DeepEqual(history[i].Attributes, want.Attributes) {
			t.Errorf("got %+v and %+v, want %+v", got.Attributes, history[i].Attributes, want.Attributes)
		}
	}
	if err := b.Write(t.Context(), scope, put(badlyAttributed(scope))); !fault.IsTerminal(err) {
		t.Errorf("metadata of 3,000 bytes: got %v, want a terminal error", err)
	}
}

func badlyAttributed(scope memory.Scope) memory.Memory {
	m := entry(scope, 9, content(9))
	m.Metadata = map[string]any{"a": fmt.Sprintf("%03000d", 1)}
	return m
}

// shelf writes entries with the attributes that the cases filter by.
func shelf(t *testing.T, b bank.Bank, scope memory.Scope) []memory.Memory {
	t.Helper()
	var out []memory.Memory
	for n := range 12 {
		m := entry(scope, n, content(n))
		m.Kind, m.Topic, m.SessionID = memory.Kinds()[n%5], fmt.Sprintf("Topic %d", n%3), fmt.Sprintf("s%d", n%4)
		m.Keywords, m.ValidFrom = []string{"bicycle", fmt.Sprint("k", n)}, epoch.AddDate(0, n, 0)
		m.Metadata = map[string]any{
			"n": float64(n-6) / 4, "colour": []string{"red", "green", " red"}[n%3],
			"tags": []any{fmt.Sprint("t", n%4), float64(n)},
			"in":   map[string]any{"deep": n%2 == 0}, "day": epoch.AddDate(0, 0, n).Format(time.RFC3339Nano),
		}
		if n%6 == 0 {
			m.Metadata = nil
		}
		if n%2 == 0 {
			m.AgentID = "a1"
		}
		out = append(out, m)
	}
	write(t, b, scope, put(out...))
	return out
}

func parse(t *testing.T, filter string) memory.Filter {
	t.Helper()
	f, err := memory.ParseFilter([]byte(filter))
	if err != nil {
		t.Fatalf("%s: %v", filter, err)
	}
	return f
}

func testFilters(t *testing.T, b bank.Bank) {
	scope := newScope()
	all := shelf(t, b, scope)
	for filter, want := range map[string][]int{
		`{"field":"metadata.colour","equals":"red"}`:               {3, 9},
		`{"field":"metadata.colour","equals":" red"}`:              {2, 5, 8, 11},
		`{"field":"metadata.colour","in":["blue","green"]}`:        {1, 4, 7, 10},
		`{"not":{"field":"metadata.colour","in":["red","green"]}}`: {0, 2, 5, 6, 8, 11},
		`{"field":"metadata.colour","exists":false}`:               {0, 6},
		`{"not":{"field":"metadata.colour","exists":false}}`:       {1, 2, 3, 4, 5, 7, 8, 9, 10, 11},
		`{"field":"metadata.n","equals":-0.25}`:                    {5},
		`{"field":"metadata.n","range":{"gt":-1.25,"lte":-0.25}}`:  {2, 3, 4, 5},
		`{"field":"metadata.n","range":{"gte":1}}`:                 {10, 11},
		`{"not":{"field":"metadata.n","range":{"lt":1}}}`:          {0, 6, 10, 11},
		`{"field":"metadata.n","range":{"gt":3,"lt":2}}`:           {},
		`{"field":"metadata.tags","contains":"t1"}`:                {1, 5, 9},
		`{"field":"metadata.tags","contains":7}`:                   {7},
		`{"field":"metadata.tags","equals":"t1"}`:                  {1, 5, 9},
		`{"field":"metadata.colour","contains":"RE"}`:              {1, 2, 3, 4, 5, 7, 8, 9, 10, 11},
		`{"not":{"field":"metadata.colour","contains":" RE"}}`:     {0, 1, 3, 4, 6, 7, 9, 10},
		`{"field":"metadata.in.deep","equals":true}`:               {2, 4, 8, 10},
		`{"field":"metadata.in","exists":true}`:                    {1, 2, 3, 4, 5, 7, 8, 9, 10, 11},
		`{"field":"metadata.day","range":{"gt":"2024-05-07T07:08:09.123456Z",` +
			`"lt":"2024-05-09T08:08:09.123456789+01:00"}}`: {2},
		`{"field":"agent_id","equals":"a1"}`:                                           {0, 2, 4, 6, 8, 10},
		`{"not":{"field":"agent_id","equals":"a1"}}`:                                   {1, 3, 5, 7, 9, 11},
		`{"field":"kind","equals":"episodic"}`:                                         {2, 7},
		`{"field":"topic","contains":"TOPIC 1"}`:                                       {1, 4, 7, 10},
		`{"field":"session_id","in":["s0","s3"]}`:                                      {0, 3, 4, 7, 8, 11},
		`{"field":"keywords","contains":"k7"}`:                                         {7},
		`{"field":"id","equals":"` + all[4].ID + `"}`:                                  {4},
		`{"field":"recorded_at","range":{"gte":"2024-05-06T07:08:18.123456789Z"}}`:     {9, 10, 11},
		`{"field":"recorded_at","equals":"2024-05-06T07:08:18.123456Z"}`:               {9},
		`{"not":{"field":"recorded_at","range":{"lt":"2024-05-06T07:08:18.123457Z"}}}`: {10, 11},
		`{"field":"valid_from","range":{"lt":"2024-06-06T07:08:09.123456Z"}}`:          {0},
		`{"field":"event_time","exists":true}`:                                         {},
		`{"and":[{"field":"agent_id","equals":"a1"},{"or":[{"field":"metadata.n","range":{"lt":0}},` +
			`{"field":"kind","equals":"fact"}]}]}`: {0, 2, 4, 10},
		`{"not":{"and":[{"field":"agent_id","exists":false},` +
			`{"not":{"field":"kind","equals":"fact"}}]}}`: {0, 2, 4, 5, 6, 8, 10},
	} {
		var wanted []string
		for _, n := range want {
			wanted = append(wanted, all[n].ID)
		}
		for _, limit := range []int{0, 2} {
			wantIDs(t, filter, ids(listAll(t, b, scope, bank.ListOptions{Filter: parse(t, filter), Limit: limit})), wanted)
		}
		found := foundIDs(search(t, b, scope, bank.Query{Text: "bicycle", K: 50, Filter: parse(t, filter)}))
		slices.Sort(found)
		slices.Sort(wanted)
		wantIDs(t, "search "+filter, found, wanted)
	}
}

// The index cannot find texts by their parts, so a store must read on until a page is full.
func testFilteredPages(t *testing.T, b bank.Bank) {
	scope := newScope()
	var entries, want []memory.Memory
	for n := range 60 {
		m := entry(scope, n, content(n))
		m.Metadata = map[string]any{"text": fmt.Sprintf("value %d of many", n%10)}
		m.RecordedAt = epoch.Add(time.Duration(n/7) * time.Second)
		entries = append(entries, m)
	}
	slices.SortFunc(entries, bank.ByRecorded)
	write(t, b, scope, put(entries...))
	for _, m := range entries {
		if m.Metadata["text"] == "value 3 of many" {
			want = append(want, m)
		}
	}
	f := parse(t, `{"field":"metadata.text","contains":"value 3"}`)
	for _, limit := range []int{1, 2, 5, 6, 7} {
		wantIDs(t, "all pages", ids(listAll(t, b, scope, bank.ListOptions{Filter: f, Limit: limit})), ids(want))
	}
	states := []memory.Status{memory.StatusRetracted}
	wantIDs(t, "of another state", ids(listAll(t, b, scope, bank.ListOptions{Filter: f, Statuses: states})), nil)
}

func testFilteredSearch(t *testing.T, b bank.Bank) {
	scope := newScope()
	var entries []memory.Memory
	for n := range 60 {
		m := entry(scope, n, content(n))
		m.Metadata = map[string]any{"text": fmt.Sprintf("value %d of many", n%30)}
		entries = append(entries, m)
	}
	write(t, b, scope, put(entries...))
	for _, filter := range []string{
		`{"field":"metadata.text","contains":"value 7 "}`, `{"field":"metadata.text","equals":"value 7 of many"}`,
	} {
		for name, q := range map[string]bank.Query{
			"words": {Text: "bicycle"}, "vector": {Vector: axis(1), Alpha: 1},
			"both": {Text: "bicycle", Vector: axis(1), Alpha: 0.5},
		} {
			q.K, q.Filter = 2, parse(t, filter)
			found := foundIDs(search(t, b, scope, q))
			slices.Sort(found)
			want := []string{entries[7].ID, entries[37].ID}
			slices.Sort(want)
			wantIDs(t, name+" "+filter, found, want)
		}
	}
}

func testLongMetadata(t *testing.T, b bank.Bank) {
	scope := newScope()
	m := entry(scope, 1, content(1))
	var numbers []any
	for n := range 320 {
		numbers = append(numbers, float64(n)+0.5)
	}
	m.Metadata = map[string]any{"n": numbers, "colour": "red"}
	write(t, b, scope, put(m, entry(scope, 2, content(2))))
	for filter, want := range map[string][]string{
		`{"field":"metadata.colour","equals":"red"}`:       {m.ID},
		`{"field":"metadata.n","range":{"gt":319}}`:        {m.ID},
		`{"field":"metadata.n","range":{"gt":320}}`:        nil,
		`{"not":{"field":"metadata.n","equals":1.5}}`:      {entry(scope, 2, "").ID},
		`{"not":{"field":"metadata.colour","equals":"x"}}`: {m.ID, entry(scope, 2, "").ID},
	} {
		wantIDs(t, filter, ids(listAll(t, b, scope, bank.ListOptions{Filter: parse(t, filter)})), want)
	}
}

func testBadFilters(t *testing.T, b bank.Bank) {
	bad := memory.Filter{Condition: &memory.Condition{Field: "content", Equals: "x"}}
	if _, err := b.List(t.Context(), newScope(), bank.ListOptions{Filter: bad}); fault.Field(err) != "filter.field" {
		t.Errorf("List: got %v", err)
	}
	if _, err := b.Search(t.Context(), newScope(),
		bank.Query{Text: "a", Filter: bad}); fault.Field(err) != "filter.field" {
		t.Errorf("Search: got %v", err)
	}
}

func testFiltersIsolated(t *testing.T, b bank.Bank) {
	scope := newScope()
	other := memory.Scope{Tenant: scope.Tenant, User: "bo"}
	own := shelf(t, b, scope)
	shelf(t, b, other)
	f := parse(t, `{"not":{"field":"metadata.colour","equals":"none"}}`)
	wantIDs(t, "own", ids(listAll(t, b, scope, bank.ListOptions{Filter: f})), ids(own))
	erase(t, b, scope)
	wantIDs(t, "erased", ids(listAll(t, b, scope, bank.ListOptions{Filter: f})), nil)
}

// testFiltersAsMatch compares random filters with memory.Filter.Match on random entries.
func testFiltersAsMatch(t *testing.T, b bank.Bank) {
	scope := newScope()
	var all []memory.Memory
	values := rapid.Custom(drawMetadata)
	for n := range 40 {
		m := entry(scope, n, content(n))
		m.Kind, m.ValidFrom = memory.Kinds()[n%5], epoch.AddDate(0, 0, n%9)
		m.Metadata = values.Example(n)
		m.AgentID = []string{"", "a", "b"}[n%3]
		all = append(all, m)
	}
	write(t, b, scope, put(all...))
	rapid.Check(t, func(r *rapid.T) {
		f := drawFilter(r, 3)
		var want []string
		for _, m := range all {
			if f.Match(m) {
				want = append(want, m.ID)
			}
		}
		limit := rapid.IntRange(1, 50).Draw(r, "limit")
		got := ids(listAll(t, b, scope, bank.ListOptions{Filter: f, Limit: limit}))
		if !slices.Equal(got, want) {
			r.Fatalf("%+v: got %v, want %v", f, got, want)
		}
	})
}

var drawnKeys = []string{"a", "b", "c.d"}

func drawScalar(r *rapid.T) any {
	switch rapid.IntRange(0, 3).Draw(r, "type") {
	case 0:
		return rapid.SampledFrom([]string{"x", "X ", "xy", "", "a", "2024-05-06T00:00:00Z",
			"2024-05-06T00:00:00.000001Z"}).Draw(r, "text")
	case 1:
		return rapid.SampledFrom([]float64{0, 1, -1, 1.5, 1.5000001, -1e300, 1e-300, 16777217, 16777216}).Draw(r, "number")
	case 2:
		return rapid.Float64Range(-4, 4).Draw(r, "any number")
	}
	return rapid.Bool().Draw(r, "flag")
}

func drawMetadata(r *rapid.T) map[string]any {
	out := map[string]any{}
	for _, key := range []string{"a", "b", "c"} {
		switch rapid.IntRange(0, 4).Draw(r, "shape") {
		case 0:
			continue
		case 1:
			out[key] = []any{drawScalar(r), drawScalar(r)}
		case 2:
			out[key] = map[string]any{"d": drawScalar(r)}
		default:
			out[key] = drawScalar(r)
		}
	}
	return out
}

func drawFilter(r *rapid.T, depth int) memory.Filter {
	shape := rapid.IntRange(0, 5).Draw(r, "operator")
	if depth == 0 || shape > 2 {
		c := drawCondition(r)
		return memory.Filter{Condition: &c}
	}
	parts := []memory.Filter{drawFilter(r, depth-1), drawFilter(r, depth-1)}
	switch shape {
	case 0:
		return memory.Filter{And: parts}
	case 1:
		return memory.Filter{Or: parts}
	}
	return memory.Filter{Not: &parts[0]}
}

func drawCondition(r *rapid.T) memory.Condition {
	switch rapid.IntRange(0, 8).Draw(r, "field") {
	case 0:
		return memory.Condition{Field: "agent_id", In: []any{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "agent")}}
	case 1:
		return memory.Condition{Field: "kind", Equals: string(rapid.SampledFrom(memory.Kinds()).Draw(r, "kind"))}
	case 2:
		at := epoch.AddDate(0, 0, rapid.IntRange(0, 9).Draw(r, "day")).Format(time.RFC3339Nano)
		return memory.Condition{Field: "valid_from", Range: drawBounds(r, at, at)}
	}
	c := memory.Condition{Field: memory.MetadataPrefix + rapid.SampledFrom(drawnKeys).Draw(r, "key")}
	switch rapid.IntRange(0, 5).Draw(r, "test") {
	case 0:
		c.Equals = drawScalar(r)
	case 1:
		c.In = []any{drawScalar(r), drawScalar(r)}
	case 2:
		exists := rapid.Bool().Draw(r, "exists")
		c.Exists = &exists
	case 3:
		notEmpty := func(v any) bool { return v != "" }
		c.Contains = rapid.Custom(drawScalar).Filter(notEmpty).Draw(r, "part")
	case 4:
		c.Range = drawBounds(r, "2024-05-06T00:00:00Z", "2024-05-07T00:00:00Z")
	default:
		number := rapid.SampledFrom([]float64{-1, 0, 1.5, 2.25, 16777216})
		c.Range = drawBounds(r, number.Draw(r, "low"), number.Draw(r, "high"))
	}
	return c
}

func drawBounds(r *rapid.T, low, high any) *memory.Range {
	switch rapid.IntRange(0, 4).Draw(r, "bounds") {
	case 0:
		return &memory.Range{GT: low}
	case 1:
		return &memory.Range{GTE: low}
	case 2:
		return &memory.Range{LT: high}
	case 3:
		return &memory.Range{LTE: high}
	}
	return &memory.Range{GT: low, LTE: high}
}
