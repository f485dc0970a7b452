package formation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	shared "github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// conversation is a LoCoMo file with malformed evidence.
const conversation = `[{"sample_id": "c1", "conversation": {"speaker_a": "Ines", "speaker_b": "Marek",
 "session_1_date_time": "1:00 pm on 3 May, 2023", "session_1": [
  {"speaker": "Ines", "dia_id": "D1:1", "text": "Hi!"},
  {"speaker": "Marek", "dia_id": "D1:2", "text": "I adopted a tortoise called Pebble in Lisbon yesterday."},
  {"speaker": "Ines", "dia_id": "D1:3", "text": "Wow, cool!"}]},
 "qa": [
  {"question": "What is the tortoise called?", "answer": "Pebble", "evidence": ["D:1:2"], "category": 4},
  {"question": "Which colour has it?", "answer": "green", "evidence": ["D1:2"], "category": 4},
  {"question": "Who greeted?", "answer": "Ines", "evidence": ["D1:1", "D9:9"], "category": 1},
  {"question": "Not asked", "adversarial_answer": "x", "evidence": ["D1:3"], "category": 5}]}]`

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFormationIsEvaluatedByItsEvidence(t *testing.T) {
	server := llmtest.New(t)
	byModel, err := salimory.NewLLM(server.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	modelFilter, err := llm.NewFilter(server.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	r, err := formation.Evaluate(t.Context(), formation.Options{
		Path: write(t, "c.json", conversation), Embedder: builtin.New(), Progress: &progress,
		Variants: []formation.Variant{
			{Strategy: "salimory", Policy: "embedded", Filter: saliency.NewTrained(), Former: salimory.NewEmbedded()},
			{Strategy: "salimory-by-model", Policy: "llm", Filter: modelFilter, Former: byModel},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Turns != 3 || r.Sessions != 1 || r.Users != 1 || r.Questions != 2 || r.RepairedEvidence != 1 ||
		r.DroppedEvidence != 1 {
		t.Errorf("measured on %d turns, %d sessions, %d questions; repaired %d, dropped %d", r.Turns, r.Sessions, r.Questions,
			r.RepairedEvidence, r.DroppedEvidence)
	}
	if r.Containment != 0.5 || r.KeptEvidence != 0.5 || r.DroppedShare < 0.6 || r.Duplicates != 0 ||
		r.CallsPerSession != 0 {
		t.Errorf("the rules: %+v", r.VariantReport)
	}
	model := r.Strategies["salimory-by-model"]
	if model.CallsPerSession != 3 || model.InputPerSession < 100 || model.OutPerSession < 10 || model.Containment != 0.5 {
		t.Errorf("the model: %+v", model)
	}
	if got := progress.String(); strings.Count(got, "\n") != 2 {
		t.Errorf("progress: %q", got)
	}
	checkRendered(t, r)
}

// reader keeps the sessions that the former receives.
type reader struct {
	shared.Former
	seen *[]shared.Session
}

func (r reader) Extract(ctx context.Context, in shared.Session) ([]shared.Candidate, error) {
	*r.seen = append(*r.seen, in)
	return r.Former.Extract(ctx, in)
}

// A filter that gates leaves dropped turns readable. A filter that only marks lets every turn be formed.
func TestModesOfTheFilter(t *testing.T) {
	subjects, _, err := dataset.ReadSubjects(write(t, "c.json", conversation), dataset.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[memory.SaliencyMode]struct{ turns, context, decided, dropped int }{
		"": {1, 2, 3, 2}, memory.SaliencyGate: {1, 2, 3, 2}, memory.SaliencyMark: {3, 0, 3, 0},
		memory.SaliencyOff: {3, 0, 0, 0},
	} {
		var seen []shared.Session
		p := formation.Pipeline{
			Filter: saliency.NewTrained(), Saliency: mode, Former: reader{salimory.NewEmbedded(), &seen},
			Strategy: salimory.Name,
			Embedder: builtin.New(),
		}
		formed, err := p.Form(t.Context(), subjects[0])
		if err != nil || len(seen) != 1 {
			t.Fatalf("%q: %v, %d sessions", mode, err, len(seen))
		}
		dropped := 0
		for _, kept := range formed.Decisions {
			if !kept {
				dropped++
			}
		}
		if in := seen[0]; len(in.Turns) != want.turns || len(in.Context) != want.context ||
			len(formed.Decisions) != want.decided ||
			dropped != want.dropped {
			t.Errorf("%q: %d turns are formed and %d read, %d decided on and %d dropped, want %+v", mode, len(in.Turns),
				len(in.Context),
				len(formed.Decisions), dropped, want)
		}
	}
}

func checkRendered(t *testing.T, r formation.Report) {
	t.Helper()
	var table bytes.Buffer
	if err := r.Render(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"salimory-by-model", "evidence turns kept", "50.0 %", "1 users, 1 sessions, 3 turns"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
	out, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal(out, &top); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{
		"kept_evidence", "dropped_share", "containment", "duplicates", "memories_per_user", "strategies",
		"model_calls_per_session",
	} {
		if _, ok := top[field]; !ok {
			t.Errorf("there is no %s in %s", field, out)
		}
	}
}

func TestNothingToMeasure(t *testing.T) {
	if _, err := formation.Evaluate(t.Context(), formation.Options{Path: "x"}); err == nil {
		t.Error("no variant was measured, yet there is no error")
	}
}
