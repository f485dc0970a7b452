package evaluation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/evaluation"
	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var began = time.Date(2024, 3, 4, 9, 0, 0, 0, time.UTC)

// talk makes sessions of Iris's, one a list of texts, a month apart; turn ids are session and place, as in "0:1".
func talk(sessions ...[]string) []dataset.Session {
	var out []dataset.Session
	for i, texts := range sessions {
		s := dataset.Session{User: "iris", ID: string(rune('a' + i))}
		for k, text := range texts {
			s.Turns = append(s.Turns, memory.Turn{
				ID: string(rune('0'+i)) + ":" + string(rune('0'+k)), SessionID: s.ID, Speaker: "Iris", Role: memory.RoleUser, Text: text,
				Time: began.AddDate(0, i, 0).Add(time.Duration(k) * time.Minute),
			})
		}
		out = append(out, s)
	}
	return out
}

// short drops turns of fewer than three words.
type short struct{}

func (short) Filter(_ context.Context, _ memory.Scope, turns []memory.Turn) ([]memory.SaliencyDecision, error) {
	out := make([]memory.SaliencyDecision, len(turns))
	for i, t := range turns {
		out[i].Salient = len(strings.Fields(t.Text)) > 2
	}
	return out, nil
}

func subject() evaluation.Subject {
	return evaluation.Subject{
		Scope:    memory.Scope{Tenant: "acme", User: "iris"},
		Sessions: talk([]string{"I live in Bergen.", "Oh hello!", "I bought a green tandem."}, []string{"I moved to Turin last week.", "Bye now"}),
		Questions: []evaluation.Question{
			{Answer: "green tandem", Evidence: []string{"0:2"}, SingleHop: true},
			{Answer: "a red scooter", Evidence: []string{"0:2"}, SingleHop: true},
			{Answer: "hello", Evidence: []string{"0:1"}},
		},
		Targets: []evaluation.Target{
			{Turns: []string{"0:0"}, At: began, Operation: memory.OpAdd, Predecessor: -1, Words: []string{"bergen", "lives"}},
			{Turns: []string{"0:2"}, At: began.Add(2 * time.Minute), Operation: memory.OpAdd, Predecessor: -1, Words: []string{"green", "tandem"}},
			{Turns: []string{"1:0"}, At: began.AddDate(0, 1, 0), Operation: memory.OpUpdate, Predecessor: 0, Words: []string{"turin", "moved"}},
		},
	}
}

func form(t *testing.T) evaluation.Formed {
	t.Helper()
	p := evaluation.Pipeline{Filter: short{}, Former: embedded.NewFormer(embedded.IdentityOf("salimory")), Embedder: builtin.New()}
	f, err := p.Form(context.Background(), subject())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestMeasuresOfARun(t *testing.T) {
	tally := evaluation.NewTally()
	tally.Add(subject(), form(t))
	r := tally.Report()
	if r.Turns != 5 || r.DroppedShare != 0.4 || r.KeptEvidence != 0.5 || r.Questions != 2 || r.Containment != 0.5 {
		t.Errorf("filter and containment: %+v", r)
	}
	if r.Updates != 1 || r.UpdateHits != 1 || r.Closings != 1 || r.WrongUpdates != 0 || r.Duplicates != 0 || r.MemoriesPerUser != 2 {
		t.Errorf("updates: %+v", r)
	}
	var table bytes.Buffer
	if err := r.Render(&table); err != nil || !strings.Contains(table.String(), "updates that hit") || !strings.Contains(table.String(), "100.0 % of 1") {
		t.Errorf("table %q, %v", table.String(), err)
	}
	raw, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(raw), `"kept_evidence":0.5`) || !strings.Contains(string(raw), `"memories_per_user":2`) {
		t.Errorf("json %s, %v", raw, err)
	}
}

func TestWrongAndMissedUpdatesAreFound(t *testing.T) {
	s, f := subject(), form(t)
	s.Targets[2].Predecessor = 1 // the truth is now that the tandem was replaced, and that Bergen still holds
	missed, wrong := evaluation.Misses(s, f)
	if len(missed) != 1 || missed[0] != 2 || len(wrong) != 1 || wrong[0].Kind != memory.OpUpdate {
		t.Errorf("missed %v, wrong %+v", missed, wrong)
	}
}

func TestOperationsAreReadOffABank(t *testing.T) {
	f := form(t)
	var turns []memory.Turn
	for _, s := range subject().Sessions {
		turns = append(turns, s.Turns...)
	}
	tally := evaluation.NewTally()
	f.Operations = evaluation.OperationsOf(f.Entries, turns)
	tally.Add(subject(), f)
	if r := tally.Report(); r.UpdateHits != 1 || r.Operations["UPDATE"] != 1 || r.Operations["ADD"] != 2 {
		t.Errorf("got %+v", r)
	}
}

func TestDuplicates(t *testing.T) {
	entry := func(id, slot, content string, status memory.Status) memory.Memory {
		return memory.Memory{ID: id, Slot: slot, Content: content, Status: status}
	}
	got := evaluation.Duplicates([]memory.Memory{
		entry("1", "", "Iris likes tea.", memory.StatusActive), entry("2", "", "iris likes TEA", memory.StatusActive),
		entry("3", "", "Iris likes tea.", memory.StatusSuperseded), entry("4", "iris/home", "Iris lives in Turin.", memory.StatusActive),
		entry("5", "iris/home", "In Turin lives Iris.", memory.StatusActive), entry("6", "iris/home", "Iris lives in Bergen.", memory.StatusActive),
	})
	if len(got) != 2 || got[0].ID != "2" || got[1].ID != "5" {
		t.Errorf("got %+v, want entries 2 and 5", got)
	}
}
