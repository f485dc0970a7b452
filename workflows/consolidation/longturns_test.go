package consolidation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// fill puts n large entries with different words into ana's bank.
func (s shop) fill(t *testing.T, n int) {
	t.Helper()
	var w memory.Write
	for i := range n {
		w.Put = append(w.Put, memory.Memory{
			ID: memory.DeriveID(owner, []string{"old"}, i), Content: fmt.Sprint("I own thing", i),
			Value:  strings.Repeat("<", memory.MaxValueBytes),
			Status: memory.StatusActive, Sources: []string{"old"}, Vector: make(memory.Vector, builtin.Dimension),
			RecordedAt: start,
		})
	}
	if err := s.Bank.Write(t.Context(), owner, w); err != nil {
		t.Fatal(err)
	}
}

// longest returns the longest allowed turn, measured as JSON.
func longest(session string, n int) consolidation.Event {
	e := turn(session, n)
	e.Turn.Text, e.Turn.Caption = strings.Repeat("<", memory.MaxTextBytes), strings.Repeat("<", memory.MaxCaptionBytes)
	return e
}

// remember puts consolidated turns into the window: some of the maximum length and one short turn.
func (s shop) remember(t *testing.T, long int) {
	t.Helper()
	var turns []memory.Turn
	for n := range long {
		turns = append(turns, *longest("before", n).Turn)
	}
	for n := range 6 {
		e := turn("before", long+n)
		e.Turn.Text = strings.Repeat("<", 3<<10)
		turns = append(turns, *e.Turn)
	}
	if err := s.Window.Append(t.Context(), owner, turns); err != nil {
		t.Fatal(err)
	}
	if err := s.Bank.Write(t.Context(), owner, memory.Write{Turns: turns}); err != nil {
		t.Fatal(err)
	}
}

// curious searches the bank several times. It keeps the turns and all results in its memo.
type curious struct {
	literal
	rounds int
	shown  map[string]memory.Memory
	window int
	core   bool
}

type notes struct {
	Round int                      `json:"round"`
	Text  string                   `json:"text"`
	Shown map[string]memory.Memory `json:"shown"`
}

func (c *curious) Extract(_ context.Context, in formation.Session) ([]formation.Candidate, error) {
	return []formation.Candidate{{Content: in.Turns[0].Text, Sources: []string{in.Turns[0].ID}}}, nil
}

func (c *curious) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	n := notes{Text: in.Session.Turns[0].Text + in.Session.Turns[0].Caption, Shown: map[string]memory.Memory{}}
	if in.Memo != nil {
		if err := json.Unmarshal(in.Memo, &n); err != nil {
			return formation.Verdict{}, err
		}
	}
	for _, f := range append(in.Found, formation.Found{Memories: in.Related[0].Memories}) {
		for _, m := range f.Memories {
			n.Shown[m.ID] = m
		}
	}
	c.shown, c.window, c.core = n.Shown, max(c.window, len(in.Window)), c.core || in.Core.Content != ""
	if n.Round++; n.Round > c.rounds {
		return c.literal.Decide(ctx, in)
	}
	memo, err := json.Marshal(n)
	out := formation.Verdict{Memo: memo}
	for i := range 30 {
		out.Lookups = append(out.Lookups, formation.Lookup{Text: fmt.Sprint("thing", 30*n.Round+i), K: 1})
	}
	return out, err
}

// The longest allowed turn gets a decision. The bank has large entries, the window has long turns, and there is a
// core block. The former searches repeatedly and keeps all results.
func TestTheLongestTurnIsDecidedOnWhateverTheFormerLooksUp(t *testing.T) {
	env, s := newRun(t)
	b := &bounded{shop: newShop(t), t: t}
	former := &curious{rounds: 12}
	b.Formers = func(string, string) (formation.Former, error) { return former, nil }
	for name, f := range map[string]any{
		"Extract": b.Extract, "Relate": b.Relate, "Decide": b.Decide, "Search": b.Search, "Apply": b.Apply,
	} {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name, DisableAlreadyRegisteredCheck: true})
	}
	b.fill(t, 400)
	b.remember(t, 2)
	core := memory.Core{Content: strings.Repeat("<", 5000), Version: 1, UpdatedAt: start}
	if err := b.Bank.Write(t.Context(), owner, memory.Write{Core: &core}); err != nil {
		t.Fatal(err)
	}
	signals(env, []consolidation.Event{longest("s1", 1), closed("s1")})
	p := params()
	p.Strategy = string(tenant.StrategyMembuilder) // this strategy keeps a core block
	finish(t, env, p)
	for _, d := range s.deadLetters {
		t.Errorf("%d turns are a dead letter: %s", len(d.Batch.Turns), d.Reason)
	}
	if b.session(t, "s1").Turns != 1 || former.window == 0 || !former.core || len(former.shown) < 45 {
		t.Errorf("the session is %+v; %d turns of the window and %d entries were shown", b.session(t, "s1"), former.window,
			len(former.shown))
	}
	if b.largest > maxPayload {
		t.Errorf("a payload had %d bytes", b.largest)
	}
}

// The window shrinks when the memo grows.
func TestTheWindowMakesWayForAMemo(t *testing.T) {
	env, s := newRun(t)
	var windows []int
	relate := func(_ context.Context, in consolidation.RelateInput) (consolidation.Neighbourhood, error) {
		n := consolidation.Neighbourhood{Candidates: in.Candidates}
		for range 20 {
			n.Window = append(n.Window, memory.Turn{Text: strings.Repeat("x", 3<<10)})
		}
		return n, nil
	}
	decide := func(_ context.Context, in consolidation.DecideInput) (d consolidation.Decided, _ error) {
		if windows = append(windows, len(in.Neighbourhood.Window)); len(windows) == 1 {
			d.Lookups = []formation.Lookup{{Text: "home"}}
			d.Memo = json.RawMessage(`"` + strings.Repeat("x", 1_900_000) + `"`)
		}
		return d, nil
	}
	search := func(context.Context, consolidation.SearchInput) (consolidation.SearchResult, error) {
		return consolidation.SearchResult{Near: make([][]consolidation.Neighbour, 1)}, nil
	}
	for name, f := range map[string]any{"Relate": relate, "Decide": decide, "Search": search} {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name, DisableAlreadyRegisteredCheck: true})
	}
	signals(env, []consolidation.Event{turn("s1", 1), closed("s1")})
	finish(t, env, params())
	if len(s.deadLetters) != 0 || len(s.applied) != 1 || !slices.Equal(windows, []int{20, 0}) {
		t.Errorf("%d dead letters; the former was shown windows of %v turns", len(s.deadLetters), windows)
	}
}

// The workflow measures each argument, whatever its parts. Here two turns and their decisions fit only one by one.
func TestWhatIsTooLargeToHandOverIsTakenInHalves(t *testing.T) {
	env, s := newRun(t)
	decide := func(_ context.Context, in consolidation.DecideInput) (consolidation.Decided, error) {
		var d consolidation.Decided
		for range in.Batch.Turns {
			d.Write.Put = append(d.Write.Put, memory.Memory{Content: strings.Repeat("x", 850<<10)})
		}
		return d, nil
	}
	env.RegisterActivityWithOptions(decide, activity.RegisterOptions{Name: "Decide", DisableAlreadyRegisteredCheck: true})
	signals(env, []consolidation.Event{longest("s1", 1), longest("s1", 2), closed("s1")})
	finish(t, env, params())
	if len(s.applied) != 2 || len(s.deadLetters) != 0 {
		t.Errorf("%d batches were applied, and %d are dead letters", len(s.applied), len(s.deadLetters))
	}
	for _, a := range s.applied {
		if n := jsonSize(t, a); n > maxPayload {
			t.Errorf("%d turns were applied with %d bytes", len(a.Batch.Turns), n)
		}
	}
}

// verdict is a former with a fixed decision.
type verdict struct {
	literal
	formation.Verdict
}

func (v verdict) Decide(context.Context, formation.Bundle) (formation.Verdict, error) {
	return v.Verdict, nil
}

func TestDecideRefusesToReturnTooMuch(t *testing.T) {
	s := newShop(t)
	in := consolidation.DecideInput{Batch: batchOf(1, "I own a boat."), Now: start,
		Neighbourhood: consolidation.Neighbourhood{
			Candidates: []formation.Candidate{{Content: "I own a boat.", Sources: []string{"s1:0"}}},
			Near:       make([][]consolidation.Neighbour, 1),
		}}
	long := strings.Repeat("<", memory.MaxTextBytes)
	var many formation.Verdict
	for n := range 12 {
		m := memory.Memory{ID: memory.DeriveID(owner, []string{"s1:0"}, n), Content: long, Kind: memory.KindFact}
		many.Operations = append(many.Operations, memory.Operation{Kind: memory.OpAdd, New: &m, Sources: []string{"s1:0"}})
	}
	memo, err := json.Marshal(strings.Repeat(long, 12))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]formation.Verdict{
		"operations": many, "a memo": {Lookups: []formation.Lookup{{Text: "boat"}}, Memo: memo},
	} {
		s.Formers = func(string, string) (formation.Former, error) { return verdict{Verdict: v}, nil }
		if _, err := s.Decide(t.Context(), in); !isTooLarge(err) {
			t.Errorf("%s: got %v, want a refusal that is not retried", name, err)
		}
	}
}

// Related entries and the window use the room that the turns leave. If the room is too small for a decision, the
// turns are split.
func TestRelateKeepsWithinWhatTheTurnsLeave(t *testing.T) {
	s := newShop(t)
	s.fill(t, 400)
	s.remember(t, 2)
	in := consolidation.RelateInput{Batch: batchOf(1, "I own a boat.")}
	candidate := func(n, long int) formation.Candidate {
		return formation.Candidate{
			Content: fmt.Sprint("I own thing", n, strings.Repeat("<", long)), Sources: []string{"s1:0"},
			Vector: make(memory.Vector, builtin.Dimension),
		}
	}
	sizes := map[int]int{}
	for n := range 50 {
		in.Candidates = append(in.Candidates, candidate(n, 0))
		if n != 0 && n != 49 {
			continue
		}
		out, err := s.Relate(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		sizes[n] = jsonSize(t, out.Pool)
		if w := jsonSize(t, out.Window); w > 65<<10 || len(out.Window) < 2 {
			t.Errorf("%d turns of the window have %d bytes", len(out.Window), w)
		}
	}
	if sizes[0] == 0 || sizes[49] < 256<<10 || sizes[49] > 512<<10 {
		t.Errorf("the related entries have %v bytes", sizes)
	}
	for len(in.Candidates) < 55 {
		in.Candidates = append(in.Candidates, candidate(len(in.Candidates), memory.MaxTextBytes))
	}
	out, err := s.Relate(t.Context(), in)
	if n := jsonSize(t, out); err != nil || n > maxPayload || jsonSize(t, out.Pool) >= sizes[49] || len(out.Pool) == 0 {
		t.Errorf("beside long candidates: %d bytes, %d of them entries, %v", n, jsonSize(t, out.Pool), err)
	}
	for len(in.Candidates) < 58 {
		in.Candidates = append(in.Candidates, candidate(len(in.Candidates), memory.MaxTextBytes))
	}
	if _, err := s.Relate(t.Context(), in); !isTooLarge(err) {
		t.Errorf("beside more of them: got %v, want a refusal that is not retried", err)
	}
}

// A search finds no more than its limit. The nearest entries of every lookup come first.
func TestSearchKeepsWithinItsBound(t *testing.T) {
	s := newShop(t)
	s.fill(t, 400)
	in := consolidation.SearchInput{Scope: owner}
	for n := range 64 {
		in.Lookups = append(in.Lookups, formation.Lookup{Text: fmt.Sprint("thing", n),
			Vector: make(memory.Vector, builtin.Dimension)})
	}
	out, err := s.Search(t.Context(), in)
	if n := jsonSize(t, out); err != nil || n < 256<<10 || n > 520<<10 {
		t.Errorf("found %d bytes, %v", n, err)
	}
}

// oneOfAll makes one candidate from the whole session, as RMM's topics may.
type oneOfAll struct{ literal }

func (oneOfAll) Extract(_ context.Context, in formation.Session) ([]formation.Candidate, error) {
	var c formation.Candidate
	for _, t := range in.Turns {
		c.Content, c.Sources = c.Content+t.Text, append(c.Sources, t.ID)
	}
	return []formation.Candidate{c}, nil
}
