package parallel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/parallel"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// many is a session of n turns that have nothing in common, every third a question.
func many(n int) formation.Session {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("I own a zq%dx and a vk%dx.", i, i)
		if i%3 == 2 {
			texts[i] = fmt.Sprintf("Is wp%dx a yt%dx?", i, i)
		}
	}
	in := told(texts...)
	for i := range in.Turns {
		in.Turns[i].ID = fmt.Sprintf("turn-%04d", i)
	}
	return in
}

// candidatesOf makes one candidate a turn.
func candidatesOf(_ context.Context, in formation.Session) ([]formation.Candidate, error) {
	var out []formation.Candidate
	for _, t := range in.Turns {
		out = append(out, formation.Candidate{Kind: memory.KindFact, Content: t.Text, Sources: []string{t.ID}})
	}
	return out, nil
}

// none decides that nothing is to be done.
func none(_ context.Context, in formation.Bundle) (formation.Verdict, error) {
	var v formation.Verdict
	for _, r := range in.Related {
		v.Operations = append(v.Operations, memory.Operation{Kind: memory.OpNone, Sources: r.Candidate.Sources})
	}
	return v, nil
}

func newFake() *fake {
	return &fake{division: formation.Division{Extract: true, Decide: true}, extract: candidatesOf, decide: none}
}

// bundleOf holds the candidates of a session against nothing.
func bundleOf(t *testing.T, in formation.Session) formation.Bundle {
	t.Helper()
	candidates, err := candidatesOf(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	b := formation.Bundle{Session: in}
	for _, c := range candidates {
		b.Related = append(b.Related, formation.Related{Candidate: c})
	}
	return b
}

func TestANormalSessionIsOneCallEach(t *testing.T) {
	f := newFake()
	shared := parallel.New(f, parallel.DefaultOptions())
	in := many(40)
	if _, err := shared.Extract(t.Context(), in); err != nil || len(f.sessions) != 1 {
		t.Errorf("extracted in %d calls, %v", len(f.sessions), err)
	}
	if _, err := shared.Decide(t.Context(), bundleOf(t, in)); err != nil || len(f.bundles) != 1 {
		t.Errorf("decided in %d calls, %v", len(f.bundles), err)
	}
}

func TestALongSessionIsSharedOut(t *testing.T) {
	f := newFake()
	options := parallel.Options{ChunkTurns: 10, GroupCandidates: 10, Workers: 3}
	shared := parallel.New(f, options)
	in := many(101)
	candidates, err := shared.Extract(t.Context(), in)
	if err != nil || len(candidates) != 101 {
		t.Fatalf("%d candidates, %v", len(candidates), err)
	}
	for i, c := range candidates {
		if c.Sources[0] != in.Turns[i].ID {
			t.Fatalf("candidate %d is of %s", i, c.Sources[0])
		}
	}
	v, err := shared.Decide(t.Context(), bundleOf(t, in))
	if err != nil || len(v.Operations) != 101 {
		t.Fatalf("%d operations, %v", len(v.Operations), err)
	}
	for i, op := range v.Operations {
		if op.Sources[0] != in.Turns[i].ID {
			t.Fatalf("operation %d is of %s", i, op.Sources[0])
		}
	}
	if len(f.sessions) < 11 || len(f.sessions) > 14 || len(f.bundles) < 11 || len(f.bundles) > 13 ||
		f.most > options.Workers {
		t.Errorf("%d chunks, %d groups, %d at a time", len(f.sessions), len(f.bundles), f.most)
	}
	for _, s := range f.sessions {
		if len(s.Turns) > 10+3+2 {
			t.Errorf("a chunk of %d turns with its context", len(s.Turns))
		}
	}
	for _, b := range f.bundles {
		if len(b.Related) > 10 || len(b.Session.Turns) != 101 {
			t.Errorf("a group of %d candidates sees %d turns", len(b.Related), len(b.Session.Turns))
		}
	}
}

func TestChunksAreNotCutBehindQuestions(t *testing.T) {
	f := newFake()
	in := many(100)
	if _, err := parallel.New(f, parallel.Options{ChunkTurns: 30, GroupCandidates: 40, Workers: 1}).Extract(t.Context(),
		in); err != nil {
		t.Fatal(err)
	}
	for _, s := range f.sessions[1:] {
		// Three turns of context come first, and the last of these is the one before the chunk.
		if text := s.Turns[2].Text; text[len(text)-1] == '?' {
			t.Errorf("a chunk begins behind %q", text)
		}
	}
}

// Verdicts that turn out to be on the same entry are made again as one.
func TestCollidingGroupsAreDecidedAgainAsOne(t *testing.T) {
	in := many(6)
	b := bundleOf(t, in)
	home := memory.Memory{ID: "m-1", Content: "x", Status: memory.StatusActive}
	f := newFake()
	f.decide = func(_ context.Context, in formation.Bundle) (formation.Verdict, error) {
		var v formation.Verdict
		target := "m-1"
		for _, r := range in.Related {
			c := r.Candidate
			op := memory.Operation{Kind: memory.OpNone, Sources: c.Sources}
			if c.Sources[0] == "turn-0001" || c.Sources[0] == "turn-0004" { // each replaces a stored entry
				m := memory.Memory{ID: "of " + c.Sources[0], Content: c.Content}
				op = memory.Operation{Kind: memory.OpUpdate, Targets: []string{target}, Sources: c.Sources, New: &m}
				target = m.ID
			}
			if c.Sources[0] == "turn-0005" { // links it while it holds
				m := memory.Memory{ID: "of turn-0005", Content: c.Content, Links: []string{target}}
				op = memory.Operation{Kind: memory.OpAdd, Sources: c.Sources, New: &m}
			}
			v.Operations = append(v.Operations, op)
		}
		return v, nil
	}
	v, err := parallel.New(f, apart()).Decide(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if last := v.Operations[5].New; !slices.Equal(last.Links, []string{"of turn-0004"}) {
		t.Errorf("%+v links what its group alone did not end", last)
	}
	w, err := memory.Plan(scope, v.Operations, []memory.Memory{home}, day)
	if err != nil || len(w.Put) != 3 || len(w.Close) != 1 || w.Put[1].Predecessors[0] != "of turn-0001" {
		t.Errorf("%+v, %v", w, err)
	}
	if len(f.bundles) != 7 {
		t.Errorf("decided %d times, want six groups and the three that collided once more", len(f.bundles))
	}
}

// Each part of a session is read with the context around it, and every context turn is read with at least one part.
func TestChunksAreReadWithTheirContext(t *testing.T) {
	in := many(100)
	for i, turn := range in.Turns {
		turn.ID, turn.Time = fmt.Sprintf("context-%04d", i), turn.Time.Add(time.Second)
		in.Context = append(in.Context, turn)
	}
	f := newFake()
	if _, err := parallel.New(f, parallel.DefaultOptions()).Extract(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if len(f.sessions) < 3 {
		t.Fatalf("%d chunks", len(f.sessions))
	}
	read := map[string]bool{}
	for _, s := range f.sessions {
		if most := len(s.Turns) + 1; len(s.Context) == 0 || len(s.Context) > most {
			t.Errorf("%d turns are read with %d of context, want at most %d", len(s.Turns), len(s.Context), most)
		}
		last := s.Turns[len(s.Turns)-1].Time
		for _, c := range s.Context {
			read[c.ID] = true
			if c.Time.After(last.Add(2 * time.Minute)) {
				t.Errorf("context of %s is read with turns up to %s", c.Time, last)
			}
		}
	}
	if len(read) != len(in.Context) {
		t.Errorf("%d of %d turns of context are read", len(read), len(in.Context))
	}
}

func TestPassingTurnsAreUnited(t *testing.T) {
	f := newFake()
	f.decide = func(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
		v, err := none(ctx, in)
		for _, r := range in.Related {
			v.Passing = append(v.Passing, formation.Passing{TurnID: r.Candidate.Sources[0], Until: day})
		}
		return v, err
	}
	b := bundleOf(t, many(100))
	v, err := parallel.New(f, parallel.DefaultOptions()).Decide(t.Context(), b)
	held := map[string]bool{}
	for _, p := range v.Passing {
		held[p.TurnID] = true
	}
	if err != nil || len(f.bundles) < 2 || len(held) != len(b.Related) {
		t.Errorf("%d turns of %d are held after %d decisions, %v", len(held), len(b.Related), len(f.bundles), err)
	}
}

func TestRetiredTurnsAreUnited(t *testing.T) {
	f := newFake()
	f.decide = func(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
		v, err := none(ctx, in)
		v.Retire = []string{"old", in.Related[0].Candidate.Sources[0]}
		return v, err
	}
	v, err := parallel.New(f, apart()).Decide(t.Context(), bundleOf(t, many(3)))
	if want := []string{"old", "turn-0000", "turn-0001", "turn-0002"}; err != nil || !slices.Equal(v.Retire, want) {
		t.Errorf("retired %v, %v, want %v", v.Retire, err, want)
	}
}

func TestWhatIsNotDivisiblePassesThrough(t *testing.T) {
	f := newFake()
	f.division = formation.Division{}
	if got := parallel.New(f, apart()); got != formation.Former(f) {
		t.Errorf("got %T", got)
	}
	f.division = formation.Division{Decide: true}
	shared := parallel.New(f, apart())
	if _, err := shared.Extract(t.Context(), many(20)); err != nil || len(f.sessions) != 1 ||
		shared.Version() != "fake/1" {
		t.Errorf("extracted in %d calls, %v", len(f.sessions), err)
	}
	f.division = formation.Division{Extract: true}
	if _, err := parallel.New(f, apart()).Decide(t.Context(), bundleOf(t, many(20))); err != nil || len(f.bundles) != 1 {
		t.Errorf("decided in %d calls, %v", len(f.bundles), err)
	}
}

func TestErrorsOfPartsAreErrors(t *testing.T) {
	broken := errors.New("broken")
	f := newFake()
	f.extract = func(_ context.Context, in formation.Session) ([]formation.Candidate, error) {
		if in.Turns[0].ID != "turn-0000" {
			return nil, broken
		}
		return candidatesOf(context.Background(), in)
	}
	f.decide = func(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
		if in.Related[0].Candidate.Sources[0] == "turn-0002" {
			return formation.Verdict{}, broken
		}
		return none(ctx, in)
	}
	shared := parallel.New(f, apart())
	if out, err := shared.Extract(t.Context(), many(20)); !errors.Is(err, broken) || out != nil {
		t.Errorf("got %d candidates, %v", len(out), err)
	}
	if v, err := shared.Decide(t.Context(), bundleOf(t, many(5))); !errors.Is(err, broken) || v.Operations != nil {
		t.Errorf("got %+v, %v", v, err)
	}
	f.decide = func(context.Context, formation.Bundle) (formation.Verdict, error) {
		return formation.Verdict{Lookups: []formation.Lookup{{Text: "x"}}}, nil
	}
	if _, err := shared.Decide(t.Context(), bundleOf(t, many(5))); !fault.IsTerminal(err) {
		t.Errorf("lookups of a group: %v", err)
	}
}

// By a model too, many turns say together what each says, and the answers fit into one bank.
func TestALongSessionByAModel(t *testing.T) {
	s := llmtest.New(t)
	f, err := salimory.NewLLM(s.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	in := many(90)
	shared := parallel.New(f, parallel.Options{ChunkTurns: 20, GroupCandidates: 20, Workers: 4})
	candidates, err := shared.Extract(t.Context(), in)
	if err != nil || len(candidates) != 90 || s.Total() != 5 {
		t.Fatalf("%d candidates after %d calls, %v", len(candidates), s.Total(), err)
	}
	formation.Number(candidates)
	b := formation.Bundle{Session: in}
	for _, c := range candidates {
		b.Related = append(b.Related, formation.Related{Candidate: c})
	}
	v, err := shared.Decide(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if w, err := memory.Plan(scope, v.Operations, nil, day); err != nil || len(w.Put) != 90 {
		t.Errorf("%d entries, %v", len(w.Put), err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	if err := parallel.DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
	loaded, err := config.Load[parallel.Options](nil)
	if err != nil || loaded != parallel.DefaultOptions() {
		t.Errorf("the defaults load as %+v, %v", loaded, err)
	}
	for _, o := range []parallel.Options{{ChunkTurns: 0, GroupCandidates: 1, Workers: 1},
		{ChunkTurns: 1, GroupCandidates: 0, Workers: 1}, {ChunkTurns: 1, GroupCandidates: 1, Workers: 0}} {
		if o.Validate() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
