package consolidation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/store/window"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// Many turns of the maximum size at once do not make a payload that the server refuses.
func TestLargeSessionsStayWithinPayloads(t *testing.T) {
	const turns = 40
	env, s := newRun(t)
	p := params()
	p.Tuning.MaxTurns = 32
	var lists [][]consolidation.Event
	for n := 1; n <= turns; n++ {
		e := turn("s1", n)
		e.Turn.Text = strings.Repeat("x", memory.MaxTextBytes)
		lists = append(lists, []consolidation.Event{e})
	}
	signals(env, append(lists, []consolidation.Event{closed("s1")})...)
	finish(t, env, p)
	applied := 0
	for _, a := range s.applied {
		bytes := 0
		for _, turn := range a.Batch.Turns {
			bytes += len(turn.Text)
		}
		if bytes > 300<<10 {
			t.Errorf("a batch has %d bytes of text", bytes)
		}
		applied += len(a.Batch.Turns)
	}
	if applied != turns || !s.applied[len(s.applied)-1].Batch.Closes {
		t.Errorf("%d of %d turns were consolidated", applied, turns)
	}
}

// A run that must continue as new first finishes a state that is too large to carry.
func TestContinueAsNewNeverCarriesTooMuch(t *testing.T) {
	env, s := newRun(t)
	env.SetContinueAsNewSuggested(true)
	var events []consolidation.Event
	for n := 1; n <= 60; n++ {
		e := turn("s1", n)
		e.Turn.Text = strings.Repeat("x", memory.MaxTextBytes)
		events = append(events, e)
	}
	signals(env, events)
	env.ExecuteWorkflow(consolidation.WorkflowName, params())
	if err := env.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "continue as new") {
		t.Fatalf("ended with %v, want continue-as-new", err)
	}
	if len(s.applied) == 0 {
		t.Error("two megabytes were carried instead of being worked off")
	}
}

// A batch with too much content is halved. A single turn with too much content goes to the dead letters.
func TestWhatSaysTooMuchIsTakenInHalves(t *testing.T) {
	tooMuch := temporal.NewNonRetryableApplicationError("4 turns say 4000 things", "too_large", nil)
	env, s := newRun(t)
	// of 4 turns, of 2, of 1, of 256 things in one turn, of 128 ... of 1
	s.failExtract["s1"] = slices.Repeat([]error{tooMuch}, 12)
	signals(env, []consolidation.Event{turn("s1", 1), turn("s1", 2), turn("s1", 3), turn("s1", 4), closed("s1")})
	finish(t, env, params())
	if len(s.deadLetters) != 1 || len(s.deadLetters[0].Batch.Turns) != 1 {
		t.Fatalf("dead letters %+v, want the first turn alone", s.deadLetters)
	}
	if len(s.applied) != 3 || !s.applied[2].Batch.Closes {
		t.Errorf("%d batches were applied, want the other three turns one by one", len(s.applied))
	}
}

// If a model's answer is cut off, the workflow asks about half the turns.
func TestWhatIsAnsweredAtTooGreatLengthIsAskedInHalves(t *testing.T) {
	tooLong := temporal.NewNonRetryableApplicationError("model answer truncated", "too_long", nil)
	env, s := newRun(t)
	s.failExtract["s1"] = slices.Repeat([]error{tooLong}, 4) // of 4 turns, of 2, of 1, of 1 without context
	signals(env, []consolidation.Event{turn("s1", 1), turn("s1", 2), turn("s1", 3), turn("s1", 4), closed("s1")})
	finish(t, env, params())
	if len(s.deadLetters) != 1 || len(s.deadLetters[0].Batch.Turns) != 1 ||
		!strings.Contains(s.deadLetters[0].Reason, "truncated") {
		t.Fatalf("dead letters %+v, want the first turn alone", s.deadLetters)
	}
	if len(s.applied) != 3 || !s.applied[2].Batch.Closes || len(s.failExtract["s1"]) != 0 {
		t.Errorf("%d batches were applied, want the other three turns one by one", len(s.applied))
	}
}

func TestExtractRefusesTooMuch(t *testing.T) {
	s := newShop(t)
	s.Formers = func(string, string) (formation.Former, error) { return literal{}, nil }
	things := make([]string, 20)
	for i := range things { // brackets take six bytes of JSON
		things[i] = fmt.Sprintf("I bought fruit number %d in Porto:", i) + strings.Repeat(" <<<<<apples>>>>>", 1900)
	}
	_, err := s.Extract(t.Context(), batchOf(1, things...))
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || app.Type() != "too_large" || !app.NonRetryable() {
		t.Fatalf("got %v, want a refusal that is not retried", err)
	}
	if _, err := s.Extract(t.Context(), batchOf(1, things[0])); err != nil {
		t.Errorf("one of the turns: %v", err)
	}
}

// bounded checks that the arguments and results of a shop's steps fit into a Temporal payload.
type bounded struct {
	shop
	t       *testing.T
	largest int
}

func (b *bounded) see(values ...any) {
	for _, v := range values {
		data, err := json.Marshal(v)
		if err != nil {
			b.t.Error(err)
		}
		b.largest = max(b.largest, len(data))
	}
}

func (b *bounded) Extract(ctx context.Context, in consolidation.Batch) (out consolidation.Extracted, err error) {
	out, err = b.shop.Extract(ctx, in)
	if err == nil {
		b.see(in, out)
	}
	return out, err
}

func (b *bounded) Relate(
	ctx context.Context, in consolidation.RelateInput,
) (out consolidation.Neighbourhood, err error) {
	out, err = b.shop.Relate(ctx, in)
	if err == nil {
		b.see(in, out)
	}
	return out, err
}

func (b *bounded) Decide(ctx context.Context, in consolidation.DecideInput) (out consolidation.Decided, err error) {
	out, err = b.shop.Decide(ctx, in)
	if err == nil {
		b.see(in, out)
	}
	return out, err
}

func (b *bounded) Search(
	ctx context.Context, in consolidation.SearchInput,
) (out consolidation.SearchResult, err error) {
	out, err = b.shop.Search(ctx, in)
	if err == nil {
		b.see(in, out)
	}
	return out, err
}

func (b *bounded) Apply(ctx context.Context, in consolidation.ApplyInput) error {
	b.see(in)
	return b.shop.Apply(ctx, in)
}

// literal takes every sentence as a statement, compares some of them with the bank and adds all of them.
type literal struct{}

func (literal) Version() string { return "literal" }

func (literal) Extract(_ context.Context, in formation.Session) (out []formation.Candidate, _ error) {
	for _, t := range in.Turns {
		for sentence := range strings.SplitSeq(t.Text, ". ") {
			c := formation.Candidate{Content: sentence, Sources: []string{t.ID}}
			if len(out)%50 > 0 {
				c.Neighbours = formation.NoNeighbours
			}
			out = append(out, c)
		}
	}
	return out, nil
}

func (literal) Decide(_ context.Context, in formation.Bundle) (out formation.Verdict, _ error) {
	for _, r := range in.Related {
		c := r.Candidate
		m := memory.Memory{ID: memory.DeriveID(in.Session.Scope, c.Sources, c.Ordinal), Content: c.Content,
			Kind: memory.KindFact}
		out.Operations = append(out.Operations, memory.Operation{Kind: memory.OpAdd, New: &m, Sources: c.Sources})
	}
	return out, nil
}

// A session of the longest allowed turns is formed in several steps, over a bank of large entries. One turn has more
// content than fits into a payload.
func TestTheLargestSessionIsFormedInSeveralSteps(t *testing.T) {
	const turns = 6
	env, s := newRun(t)
	b := &bounded{shop: newShop(t), t: t}
	b.Formers = func(string, string) (formation.Former, error) { return literal{}, nil }
	for name, f := range map[string]any{"Extract": b.Extract, "Relate": b.Relate, "Decide": b.Decide, "Apply": b.Apply} {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name, DisableAlreadyRegisteredCheck: true})
	}
	var old memory.Write
	for n := range 100 {
		old.Put = append(old.Put, memory.Memory{
			ID: memory.DeriveID(owner, []string{"old"}, n), Content: fmt.Sprint("I own ", n),
			Value:  strings.Repeat("<", memory.MaxValueBytes),
			Status: memory.StatusActive, Sources: []string{"old"}, Vector: make(memory.Vector, builtin.Dimension),
			RecordedAt: start,
		})
	}
	if err := b.Bank.Write(t.Context(), owner, old); err != nil {
		t.Fatal(err)
	}
	var events []consolidation.Event
	statements := 0
	for n := range turns {
		e := turn("s1", n)
		e.Turn.Text = strings.Repeat("<", memory.MaxTextBytes)
		if n == 3 {
			e.Turn.Text = "I own 0"
			for len(e.Turn.Text) < memory.MaxTextBytes-20 {
				statements++
				e.Turn.Text += fmt.Sprintf(". I own %d red apples", statements)
			}
		}
		statements++
		events = append(events, e)
	}
	signals(env, append(events, closed("s1")))
	p := params()
	p.Tuning.MaxTurns = 400
	finish(t, env, p)
	kept, err := b.Bank.Count(t.Context(), owner)
	if err != nil || kept.Turns != turns || kept.Memories != statements+len(old.Put) {
		t.Errorf("the bank has %+v, %v, want %d statements of %d turns beside what it had", kept, err, statements, turns)
	}
	for _, d := range s.deadLetters {
		t.Errorf("%d turns are a dead letter: %s", len(d.Batch.Turns), d.Reason)
	}
	if b.largest > 2<<20 {
		t.Errorf("a payload had %d bytes", b.largest)
	}
}

// maxPayload is the limit of a step's arguments and results, in bytes of JSON.
const maxPayload = 1900 << 10

// jsonSize is the size of a value as JSON.
func jsonSize(t *testing.T, v any) int {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

func isTooLarge(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == "too_large" && app.NonRetryable()
}

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

// The first decision on a turn id stands. Another text under the id of a dropped turn does not become memory, not
// even as part of other turns' content. A turn that passed first survives a later decision.
func TestTheFirstDecisionOnATurnStands(t *testing.T) {
	const taken, other = "I live in Madrid.", "I am a nurse."
	for name, c := range map[string]struct {
		passed, dropped time.Time
		lost            bool
	}{
		"dropped, then passed with another text": {start.Add(time.Millisecond), start, true},
		"passed, then dropped":                   {start, start.Add(time.Millisecond), false},
		"passed and dropped at a time":           {start, start, false},
		"nobody knows when it passed":            {time.Time{}, start, false},
		"nobody knows when it was dropped":       {start, time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.Formers = func(string, string) (formation.Former, error) { return oneOfAll{}, nil }
			b := batchOf(1, taken, other)
			dropped := memory.Dropped{TurnID: b.Turns[0].ID, SessionID: "s1", Time: start, DecidedAt: c.dropped}
			if err := s.Bank.WriteDropped(t.Context(), owner, []memory.Dropped{dropped}); err != nil {
				t.Fatal(err)
			}
			var events []consolidation.Event
			for i := range b.Turns {
				e := consolidation.Event{ID: b.Turns[i].EventID, SessionID: "s1", Turn: &b.Turns[i].Turn, DecidedAt: start}
				if i == 0 {
					e.DecidedAt = c.passed
				}
				events = append(events, e)
			}
			if err := consolidation.Form(t.Context(), s.Activities, params(), append(events, closed("s1")), start); err != nil {
				t.Fatal(err)
			}
			want, turns := taken+other, 2
			if c.lost {
				want, turns = other, 1
			}
			kept, err := s.Bank.Turns(t.Context(), owner, []string{b.Turns[0].ID, b.Turns[1].ID})
			if err != nil || len(kept) != turns || s.session(t, "s1").Turns != turns || !s.session(t, "s1").Closed {
				t.Errorf("the turns kept are %+v, %v, and the session is %+v", kept, err, s.session(t, "s1"))
			}
			if entries := s.list(t); len(entries) != 1 || entries[0].Content != want {
				t.Errorf("the bank has %+v, want %q", entries, want)
			}
		})
	}
}

// A turn that comes again with another text does not change the evidence.
func TestAResentTurnDoesNotReplaceTheEvidence(t *testing.T) {
	s := newShop(t)
	first := batchOf(1, "I live in Madrid.")
	s.consolidate(t, first, start)
	again := batchOf(1, "I live in Valencia.")
	s.consolidate(t, again, start.Add(time.Hour))
	kept, err := s.Bank.Turns(t.Context(), owner, []string{first.Turns[0].ID})
	if err != nil || len(kept) != 1 || kept[0].Text != "I live in Madrid." {
		t.Errorf("the evidence is %+v, %v", kept, err)
	}
}

// A turn id that comes with another session or text goes to the dead letters. This holds if the first turn waits and
// if it is formed. The first turn stays unchanged.
func TestAReusedTurnIDIsADeadLetter(t *testing.T) {
	event := func(session, said string) consolidation.Event {
		return consolidation.Event{ID: "e-1", SessionID: session, Turn: &memory.Turn{
			ID: "1", SessionID: session, Speaker: "Ana", Role: memory.RoleUser, Text: said, Time: start},
			DecidedAt: start.Add(time.Second)}
	}
	const lives, other = "I live in Madrid.", "I am a nurse."
	mon := event("mon", lives)
	for name, c := range map[string]struct {
		before, now []consolidation.Event
		letters     []string
	}{
		"the same again":           {[]consolidation.Event{mon}, []consolidation.Event{mon, mon}, nil},
		"another session":          {[]consolidation.Event{mon}, []consolidation.Event{event("tue", lives)}, []string{lives}},
		"another text":             {[]consolidation.Event{mon}, []consolidation.Event{event("mon", other)}, []string{other}},
		"another session, at once": {nil, []consolidation.Event{mon, closed("mon"), event("tue", other)}, []string{other}},
		"another text, at once":    {nil, []consolidation.Event{mon, event("mon", other), mon}, []string{other}},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newShop(t), params()
			p.Tuning.Idle = 0
			for _, events := range [][]consolidation.Event{c.before, c.now} {
				if err := consolidation.Form(t.Context(), s.Activities, p, events, start); err != nil {
					t.Fatal(err)
				}
			}
			var letters []string
			for _, b := range s.announced.deadLetters {
				for _, l := range b.Turns {
					letters = append(letters, l.Text)
				}
			}
			kept, err := s.Bank.Turns(t.Context(), owner, []string{"1"})
			if err != nil || len(kept) != 1 || !kept[0].SameAs(*mon.Turn) || !slices.Equal(letters, c.letters) {
				t.Errorf("kept %+v, %v; the dead letters are %q, want %q", kept, err, letters, c.letters)
			}
		})
	}
}

// The record of a dropped turn includes its session.
func TestADroppedTurnsIDInAnotherSessionIsADeadLetter(t *testing.T) {
	for session, want := range map[string]int{"s1": 0, "s2": 1} {
		s, b := newShop(t), batchOf(1, "I live in Madrid.")
		dropped := memory.Dropped{TurnID: b.Turns[0].ID, SessionID: session, Time: start, DecidedAt: start}
		if err := s.Bank.WriteDropped(t.Context(), owner, []memory.Dropped{dropped}); err != nil {
			t.Fatal(err)
		}
		passed := consolidation.Event{ID: "e", SessionID: "s1", Turn: &b.Turns[0].Turn, DecidedAt: start.Add(time.Second)}
		if err := consolidation.Form(t.Context(), s.Activities, params(), []consolidation.Event{passed, closed("s1")},
			start); err != nil {
			t.Fatal(err)
		}
		if got := len(s.announced.deadLetters); got != want || len(s.list(t)) > 0 {
			t.Errorf("dropped in %s: %d dead letters, want %d; the bank has %+v", session, got, want, s.list(t))
		}
	}
}

// shakyWindow fails its first retirement.
type shakyWindow struct {
	window.Window
	failed bool
}

func (w *shakyWindow) Retire(ctx context.Context, scope memory.Scope, ids []string) error {
	if !w.failed {
		w.failed = true
		return errors.New("redis is unavailable")
	}
	return w.Window.Retire(ctx, scope, ids)
}

func TestARetractionIsFinishedByItsNextAttempt(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto."), start)
	if err := s.Window.Append(t.Context(), owner, turnsOf(batchOf(1, "I live in Porto."))); err != nil {
		t.Fatal(err)
	}
	s.Activities.Window = &shakyWindow{Window: s.Window}
	in := consolidation.RetractInput{
		Scope: owner, Retraction: consolidation.Retraction{ID: "d1", MemoryID: s.list(t)[0].ID}, Now: start.Add(time.Hour),
	}
	if err := s.Retract(t.Context(), in); err == nil {
		t.Fatal("a window that is unavailable is no error")
	}
	if err := s.Retract(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Window.Recent(t.Context(), owner, time.Time{}); err != nil || len(left) != 0 {
		t.Errorf("the window still shows %v, %v", left, err)
	}
}

// A newer version may replace an entry after the request for its deletion. The caller gets an error then.
func TestARetractionOfASupersededEntryIsRefused(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto."), start)
	entry := s.list(t)[0]
	w := memory.Write{Close: []memory.Closing{{ID: entry.ID, Status: memory.StatusSuperseded, ValidTo: start,
		OperationID: "op1"}}}
	if err := s.Bank.Write(t.Context(), owner, w); err != nil {
		t.Fatal(err)
	}
	in := consolidation.RetractInput{Scope: owner, Retraction: consolidation.Retraction{ID: "d1", MemoryID: entry.ID},
		Now: start}
	var refused *temporal.ApplicationError
	if err := s.Retract(t.Context(), in); !errors.As(err, &refused) || refused.Type() != "terminal" ||
		!refused.NonRetryable() ||
		!strings.Contains(err.Error(), "superseded") {
		t.Errorf("got %v, want a refusal that says why", err)
	}
}
