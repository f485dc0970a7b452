package recall_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/recall"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/store/transfer"
)

// opinionated is a scripted model. As a judge it accepts answers with the word green. From the whole history it
// answers with the last turn.
func opinionated(c llmtest.Call) string {
	var in struct {
		Answer string
		Turns  []struct{ Said, Text string }
	}
	if json.Unmarshal(c.Data(), &in) != nil {
		return "?"
	}
	if c.Role == "judge" {
		if strings.Contains(in.Answer, "green") {
			return `{"reason":"it says so","right":true}`
		}
		return `{"reason":"it does not say so","right":false}`
	}
	return in.Turns[len(in.Turns)-1].Text
}

func TestAnswersAreMarked(t *testing.T) {
	server := llmtest.New(t)
	server.Always(llmtest.Reply(opinionated))
	judge, err := recall.NewJudge(server.Client(t), server.Client(t), "acme")
	if err != nil {
		t.Fatal(err)
	}
	o := script(t).options(t, talkFile)
	o.Judge, o.LatencySample = judge, -1
	r, err := recall.Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// Every answer is "green tandem", without article and citation. Its F1 is 1 against "green tandem". It shares one
	// word with "green one that iris bought in march", and no word with "ada". The last turn is "iris i sold it to
	// ada".
	for name, want := range map[string]float64{
		"f1": (1 + 2.0/9 + 0) / 3, "judge": 1, "full_context_f1": (0 + 2.0/13 + 2.0/7) / 3, "full_context_judge": 0,
	} {
		if got := r.Figures.Answers[name]; !near(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if n := server.Count("judge"); n != 6 {
		t.Errorf("the judge was asked %d times, want twice of three questions", n)
	}
}

func TestAModelThatDoesNotMarkIsAnError(t *testing.T) {
	server := llmtest.New(t)
	server.Always(llmtest.Text("I would rather not say."))
	judge, err := recall.NewJudge(server.Client(t), server.Client(t), "acme")
	if err != nil {
		t.Fatal(err)
	}
	o := script(t).options(t, talkFile)
	o.Judge, o.LatencySample = judge, -1
	if _, err := recall.Evaluate(t.Context(), o); !errors.Is(err, llm.ErrMalformed) {
		t.Errorf("error %v, want a malformed answer", err)
	}
}

const observedFile = `[{"sample_id":"iris","conversation":{"speaker_a":"Iris","speaker_b":"Bo",
	"session_1_date_time":"1:00 pm on 4 March, 2024","session_1":[
		{"speaker":"Iris","dia_id":"D1:1","text":"I bought a green tandem."},{"speaker":"Bo","dia_id":"D1:2","text":"How nice!"}]},
	"observation":{"session_1_observation":{"Bo":[["Bo likes what Iris bought.","D1:2"],["Bo says nothing.","D9:9"]],
		"Iris":[["Iris owns a tandem that is green.",["D1:1","D1:2"]]]}},
	"qa":[{"question":"What did Iris buy?","answer":"green tandem","evidence":["D1:1"],"category":4}]}]`

func TestObservationsTakeThePlaceOfTheExtractor(t *testing.T) {
	o := script(t).options(t, observedFile)
	var lines []string
	o.LatencySample = -1
	o.Observed = &recall.Observed{
		Former: embedded.NewFormer(embedded.IdentityOf("salimory")), Strategy: "salimory", Embedder: builtin.New(),
		Import: func(_ context.Context, user string, export io.Reader) error {
			raw, err := io.ReadAll(export)
			lines = strings.Split(strings.TrimSpace(string(raw)), "\n")
			if user != "iris" {
				t.Errorf("imported for %q", user)
			}
			return err
		},
	}
	r, err := recall.Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	formed := map[string]int{}
	for i, line := range lines[1:] {
		record, err := transfer.ParseRecord(i+2, []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if record.Memory != nil {
			formed[record.Memory.Content] = len(record.Memory.Sources)
		}
	}
	if len(formed) != 2 || formed["Iris owns a tandem that is green."] != 2 || formed["Bo likes what Iris bought."] != 1 {
		t.Errorf("formed %v", formed)
	}
	if !strings.Contains(r.Path, "observations") || r.Formation.N != 0 {
		t.Errorf("formed by %q, %+v", r.Path, r.Formation)
	}
}
