package formation_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/shared/fault"
	policy "github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var began = time.Date(2024, 3, 4, 9, 0, 0, 0, time.UTC)

// talk builds sessions of Iris, one per list of texts, a month apart. Turn ids are session and place, as in "0:1".
func talk(sessions ...[]string) []dataset.Session {
	var out []dataset.Session
	for i, texts := range sessions {
		s := dataset.Session{User: "iris", ID: string(rune('a' + i))}
		for k, text := range texts {
			s.Turns = append(s.Turns, memory.Turn{
				ID: string(rune('0'+i)) + ":" + string(rune('0'+k)), SessionID: s.ID, Speaker: "Iris", Role: memory.RoleUser,
				Text: text,
				Time: began.AddDate(0, i, 0).Add(time.Duration(k) * time.Minute),
			})
		}
		out = append(out, s)
	}
	return out
}

// short drops turns of fewer than three words.
type short struct{}

func (short) Filter(_ context.Context, _ memory.Scope, turns, _ []memory.Turn) ([]memory.SaliencyDecision, error) {
	out := make([]memory.SaliencyDecision, len(turns))
	for i, t := range turns {
		out[i].Salient = len(strings.Fields(t.Text)) > 2
	}
	return out, nil
}

func subject() dataset.Subject {
	return dataset.Subject{
		Scope: memory.Scope{Tenant: "acme", User: "iris"},
		Sessions: talk([]string{"I live in Bergen.", "Oh hello!", "I bought a green tandem."},
			[]string{"I moved to Turin last week.", "Bye now"}),
		Questions: []dataset.Question{
			{Answer: "green tandem", Evidence: []string{"0:2"}, SingleHop: true},
			{Answer: "a red scooter", Evidence: []string{"0:2"}, SingleHop: true},
			{Answer: "hello", Evidence: []string{"0:1"}},
		},
		Targets: []dataset.Target{
			{Turns: []string{"0:0"}, At: began, Operation: memory.OpAdd, Predecessor: -1, Words: []string{"bergen", "lives"}},
			{Turns: []string{"0:2"}, At: began.Add(2 * time.Minute), Operation: memory.OpAdd, Predecessor: -1,
				Words: []string{"green", "tandem"}},
			{Turns: []string{"1:0"}, At: began.AddDate(0, 1, 0), Operation: memory.OpUpdate, Predecessor: 0, Ends: []int{0},
				Words: []string{"turin", "moved"}},
		},
	}
}

func form(t *testing.T) formation.Formed {
	t.Helper()
	former := formationtest.Quoting("salimory",
		formationtest.Judged{Later: "Turin", Stored: "Bergen", Does: relation.Replaces})
	p := formation.Pipeline{Filter: short{}, Former: former, Embedder: builtin.New()}
	f, err := p.Form(context.Background(), subject())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestMeasuresOfARun(t *testing.T) {
	tally := formation.NewTally()
	tally.Add(subject(), form(t))
	r := tally.Measures()
	if r.Turns != 5 || r.DroppedShare != 0.4 || r.KeptEvidence != 0.5 || r.Questions != 2 || r.Containment != 0.5 {
		t.Errorf("filter and containment: %+v", r)
	}
	if r.Updates != 1 || r.UpdateHits != 1 || r.Closings != 1 || r.WrongUpdates != 0 || r.Duplicates != 0 ||
		r.MemoriesPerUser != 2 {
		t.Errorf("updates: %+v", r)
	}
	raw, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(raw), `"kept_evidence":0.5`) ||
		!strings.Contains(string(raw), `"memories_per_user":2`) {
		t.Errorf("json %s, %v", raw, err)
	}
}

// looking extracts candidates without a search and looks up one text per session.
type looking struct {
	*embedded.Former
	neighbours int
}

func (l looking) Extract(ctx context.Context, in policy.Session) ([]policy.Candidate, error) {
	out, err := l.Former.Extract(ctx, in)
	for i := range out {
		out[i].Neighbours = l.neighbours
	}
	return out, err
}

func (l looking) Decide(ctx context.Context, in policy.Bundle) (policy.Verdict, error) {
	if in.Found == nil {
		return policy.Verdict{Lookups: []policy.Lookup{{Text: "where Iris lives"}}}, nil
	}
	return l.Former.Decide(ctx, in)
}

func TestSearchesAreCountedPerMemoryWritten(t *testing.T) {
	s := subject()
	s.Sessions = talk([]string{"I live in Bergen.", "My tandem is green."}, []string{"My sister Eva is a dentist."})
	former := formationtest.Quoting("salimory")
	for name, c := range map[string]struct {
		former policy.Former
		want   float64
	}{"one a statement": {former, 1}, "one a session": {looking{former, policy.NoNeighbours}, 2.0 / 3},
		"what is shared is none": {looking{former, policy.SharedNeighbours}, 2.0 / 3}} {
		f, err := formation.Pipeline{Former: c.former, Embedder: builtin.New()}.Form(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		tally := formation.NewTally()
		tally.Add(s, f)
		if got := tally.Measures().SearchesPerMemory; got != c.want {
			t.Errorf("%s: %v searches per memory, want %v", name, got, c.want)
		}
	}
}

func TestWrongAndMissedUpdatesAreCounted(t *testing.T) {
	s := subject()
	// the truth is now that the tandem was replaced and that Bergen is still valid
	s.Targets[2].Predecessor, s.Targets[2].Ends = 1, []int{1}
	tally := formation.NewTally()
	tally.Add(s, form(t))
	if r := tally.Measures(); r.Updates != 1 || r.UpdateHits != 0 || r.Closings != 1 || r.WrongUpdates != 1 {
		t.Errorf("got %+v", r)
	}
}

// unusable is a former whose extractor never returns a usable answer.
type unusable struct {
	policy.Former
	asked int
}

func (u *unusable) Extract(context.Context, policy.Session) ([]policy.Candidate, error) {
	u.asked++
	return nil, fault.ErrUnusableAnswer
}

func TestWhatCannotBeFormedGoesToTheDeadLetters(t *testing.T) {
	u := &unusable{Former: embedded.NewFormer(embedded.IdentityOf("salimory"))}
	f, err := formation.Pipeline{Former: u, Embedder: builtin.New()}.Form(t.Context(), subject())
	if err != nil || len(f.DeadLetters) != 2 || f.Complete() == nil || u.asked <= 2 {
		t.Errorf("dead letters %q after %d tries, error %v; want both sessions, tried again", f.DeadLetters, u.asked, err)
	}
	tally := formation.NewTally()
	tally.Add(subject(), f)
	if r := tally.Measures(); r.DeadLetters != 2 || r.MemoriesPerUser != 0 {
		t.Errorf("measured %+v", r)
	}
}

func TestWhatMayWorkLaterStopsTheRun(t *testing.T) {
	broken := errors.New("the disk is full")
	former := failing{embedded.NewFormer(embedded.IdentityOf("salimory")), broken}
	if _, err := (formation.Pipeline{Former: former, Embedder: builtin.New()}).Form(t.Context(),
		subject()); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// failing is a former whose extractor fails.
type failing struct {
	policy.Former
	err error
}

func (f failing) Extract(context.Context, policy.Session) ([]policy.Candidate, error) {
	return nil, f.err
}

func TestDuplicates(t *testing.T) {
	entry := func(id, slot, content string, status memory.Status) memory.Memory {
		return memory.Memory{ID: id, Slot: slot, Content: content, Status: status}
	}
	got := formation.Duplicates([]memory.Memory{
		entry("1", "", "Iris likes tea.", memory.StatusActive), entry("2", "", "iris likes TEA", memory.StatusActive),
		entry("3", "", "Iris likes tea.", memory.StatusSuperseded),
		entry("4", "iris/home", "Iris lives in Turin.", memory.StatusActive),
		entry("5", "iris/home", "In Turin lives Iris.", memory.StatusActive), entry("6", "iris/home", "Iris lives in Bergen.",
			memory.StatusActive),
	})
	if len(got) != 2 || got[0].ID != "2" || got[1].ID != "5" {
		t.Errorf("got %+v, want entries 2 and 5", got)
	}
}
