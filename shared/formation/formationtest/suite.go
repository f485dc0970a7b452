package formationtest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Factory makes a former of the strategy under test.
type Factory func(t *testing.T) formation.Former

// Run is the conformance suite of formation.Former. strategy is the name that the entries must carry.
func Run(t *testing.T, strategy string, open Factory) {
	t.Run("nothing said is nothing formed", func(t *testing.T) {
		if got, err := open(t).Extract(t.Context(), formation.Session{Scope: Scope(), ID: "s1"}); err != nil ||
			len(got) != 0 {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("a cancelled context is an error", func(t *testing.T) { cancelled(t, open(t)) })
	t.Run("sessions become memories that name their turns", func(t *testing.T) { complete(t, strategy, open(t)) })
	t.Run("the same sessions make the same memories", func(t *testing.T) { repeatable(t, open) })
	t.Run("users at the same time do not disturb each other", func(t *testing.T) { concurrent(t, open(t)) })
	t.Run("a session that is formed again adds nothing", func(t *testing.T) { again(t, open(t)) })
	t.Run("a new version names the turns of what it goes on with", func(t *testing.T) { provenance(t, open(t)) })
}

// Sessions are three sessions of a month each, in which Ana tells of herself and changes some of it.
func Sessions() []formation.Session {
	texts := [][]string{
		{"Hi! I live in Porto and I work as a nurse at Santa Clara Hospital.",
			"I love green tea, and I have a dog called Biscuit.",
			"Last week I ran a marathon in Madrid."},
		{"I moved to Braga yesterday, the flat has a balcony.", "I am allergic to peanuts, by the way.",
			"When I bake bread I let the dough rest for 12 hours."},
		{"I quit my job at Santa Clara Hospital and started at the Riverside Clinic.",
			"My sister Eva got married on 3 May 2024."},
	}
	var out []formation.Session
	for i, list := range texts {
		s := formation.Session{Scope: Scope(), ID: "s" + string(rune('1'+i))}
		for j, text := range list {
			s.Turns = append(s.Turns, memory.Turn{
				ID: s.ID + ":" + string(rune('a'+j)), SessionID: s.ID, Speaker: "Ana", Role: memory.RoleUser, Text: text,
				Time: Day().AddDate(0, i, 0).Add(time.Duration(j) * time.Minute),
			})
		}
		out = append(out, s)
	}
	return out
}

func cancelled(t *testing.T, f formation.Former) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := Sessions()[0]
	candidates, err := f.Extract(ctx, in)
	if errors.Is(err, context.Canceled) {
		return
	}
	if err != nil {
		t.Fatalf("extract: %v", err)
	}
	b := formation.Bundle{Session: in}
	formation.Number(candidates)
	for _, c := range candidates {
		b.Related = append(b.Related, formation.Related{Candidate: c})
	}
	if v, err := f.Decide(ctx, b); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v, want the context's error", v, err)
	}
}

func form(t *testing.T, l *Life, sessions []formation.Session) []memory.Write {
	t.Helper()
	var out []memory.Write
	for _, s := range sessions {
		_, w, err := l.Form(t.Context(), s)
		if err != nil {
			t.Fatalf("%s: %v", s.ID, err)
		}
		out = append(out, w)
	}
	return out
}

func complete(t *testing.T, strategy string, f formation.Former) {
	l := NewLife(f)
	writes := form(t, l, Sessions())
	written := 0
	for i, s := range Sessions() {
		ids := make([]string, len(s.Turns))
		for j, turn := range s.Turns {
			ids[j] = turn.ID
		}
		for _, m := range writes[i].Put {
			written++
			empty := m.Content == "" || m.Kind == "" || m.ValidFrom.IsZero()
			if empty || m.Strategy != strategy || m.PolicyVersion != f.Version() || m.SessionID != s.ID {
				t.Errorf("incomplete entry %+v", m)
			}
			foreign := func(id string) bool { return !slices.Contains(ids, id) }
			if len(m.Predecessors) == 0 && slices.ContainsFunc(m.Sources, foreign) {
				t.Errorf("%q comes from turns %v of another session than %s", m.Content, m.Sources, s.ID)
			}
		}
		for _, op := range l.Verdicts[i].Operations {
			if len(op.Sources) == 0 || strings.Contains(op.Reason, "Ana") {
				t.Errorf("operation %+v has no sources, or conversation text in its reason", op)
			}
		}
	}
	if written == 0 && l.Core().Content == "" {
		t.Error("nothing was formed")
	}
}

func repeatable(t *testing.T, open Factory) {
	first, second := NewLife(open(t)), NewLife(open(t))
	form(t, first, Sessions())
	form(t, second, Sessions())
	if a, b := first.All(t, Scope()), second.All(t, Scope()); !reflect.DeepEqual(a, b) {
		t.Errorf("got %+v\nand then %+v", a, b)
	}
	if a, b := first.Core(), second.Core(); !reflect.DeepEqual(a, b) {
		t.Errorf("core block %+v\nand then %+v", a, b)
	}
}

func concurrent(t *testing.T, f formation.Former) {
	want := NewLife(f)
	form(t, want, Sessions())
	lives := make([]*Life, 4)
	var g errgroup.Group
	for i := range lives {
		lives[i] = NewLife(f)
		g.Go(func() error {
			for _, s := range Sessions() {
				if _, _, err := lives[i].Form(t.Context(), s); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, l := range lives {
		if !reflect.DeepEqual(l.All(t, Scope()), want.All(t, Scope())) {
			t.Error("one of several users at a time has other memories than one alone")
		}
	}
}

// again forms the last session a second time under another id, as when a user repeats the same words.
func again(t *testing.T, f formation.Former) {
	l := NewLife(f)
	sessions := Sessions()
	form(t, l, sessions)
	before := contents(l.Active(t, Scope()))
	last := sessions[len(sessions)-1]
	last.ID = "repeated"
	last.Turns = slices.Clone(last.Turns)
	for i := range last.Turns {
		last.Turns[i].ID, last.Turns[i].SessionID = "repeated:"+last.Turns[i].ID, last.ID
	}
	form(t, l, []formation.Session{last})
	after := contents(l.Active(t, Scope()))
	for i, c := range after {
		if i > 0 && after[i-1] == c {
			t.Errorf("%q is there twice", c)
		}
	}
	if len(after) > len(before) {
		t.Errorf("%d active memories became %d by repetition:\n%s", len(before), len(after), strings.Join(after, "\n"))
	}
}

// provenance has Ana extend a known fact, which the fake model updates. Only a policy that quotes may add it as a new
// entry.
func provenance(t *testing.T, f formation.Former) {
	l := NewLife(f)
	first, second := Session("I live in a flat in Porto."),
		Session("On second thought, I live in a flat in Porto and rent it from Eva.")
	second.ID, second.Turns[0].ID, second.Turns[0].SessionID = "s2", "turn-later", "s2"
	second.Turns[0].Time = Day().AddDate(0, 1, 0)
	form(t, l, []formation.Session{first, second})
	all, sources, anew := l.All(t, Scope()), map[string][]string{}, map[string]bool{}
	for _, m := range all {
		sources[m.ID] = m.Sources
	}
	quotes := !strings.Contains(f.Version(), "/llm/")
	for _, op := range slices.Concat(l.Verdicts[0].Operations, l.Verdicts[1].Operations) {
		if op.New != nil {
			anew[op.New.ID] = op.Anew && quotes
		}
	}
	versions := 0
	for _, m := range all {
		for _, p := range m.Predecessors {
			versions++
			named := func(id string) bool { return slices.Contains(m.Sources, id) }
			if missing := slices.DeleteFunc(slices.Clone(sources[p]), named); len(missing) > 0 && !anew[m.ID] {
				t.Errorf("%q names %v, not %v of the version before it", m.Content, m.Sources, missing)
			}
		}
	}
	if versions == 0 && !quotes {
		t.Error("nothing was updated")
	}
}

func contents(memories []memory.Memory) []string {
	out := make([]string, len(memories))
	for i, m := range memories {
		out[i] = m.Content
	}
	slices.Sort(out)
	return out
}
