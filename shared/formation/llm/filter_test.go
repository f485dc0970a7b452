package llm_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/llm"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestFilterDecidesEachTurnByItsScore(t *testing.T) {
	s := llmtest.New(t)
	s.Script(model.RoleFilter, text(t, object{"turns": []object{
		{"id": "t3", "score": 0.3}, {"id": "t1", "score": 1}, {"id": "t2", "score": 0.29},
	}}))
	out, err := newFilter(t, s).Filter(t.Context(), scope, turns("a", "b", "c"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		salient bool
		score   float64
	}{{true, 1}, {false, 0.29}, {true, 0.3}} {
		d := out[i]
		if d.Salient != want.salient || d.Score != want.score || d.Threshold != 0.3 ||
			d.PolicyVersion != "llm/filter.v4/scripted" {
			t.Errorf("turn %d: %+v", i+1, d)
		}
	}
}

func TestFilterWantsEveryTurnExactlyOnce(t *testing.T) {
	for name, list := range map[string][]object{
		"missing":   {{"id": "t1", "score": 1}},
		"twice":     {{"id": "t1", "score": 1}, {"id": "t1", "score": 1}},
		"invented":  {{"id": "t1", "score": 1}, {"id": "t2", "score": 1}, {"id": "t3", "score": 1}},
		"by its id": {{"id": "turn-a", "score": 1}, {"id": "turn-b", "score": 1}},
		"score 2":   {{"id": "t1", "score": 2}, {"id": "t2", "score": 1}},
		"score -1":  {{"id": "t1", "score": -1}, {"id": "t2", "score": 1}},
		"no score":  {{"id": "t1"}, {"id": "t2", "score": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			bad := text(t, object{"turns": list})
			s.Script(model.RoleFilter, bad, bad)
			out, err := newFilter(t, s).Filter(t.Context(), scope, turns("a", "b"), nil)
			if n := s.Count(model.RoleFilter); n != 4 || err != nil || len(out) != 2 || out[0].Score == 1 {
				t.Errorf("%d calls, got %v and %v; want a repair, and then each turn asked about by itself", n, out, err)
			}
		})
	}
}

func TestFilterSendsBatches(t *testing.T) {
	s := llmtest.New(t)
	opts := llm.DefaultOptions()
	opts.FilterBatch = 2
	f, err := llm.NewFilter(s.Client(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Filter(t.Context(), scope, turns("I have two sons now", "ok", "We live near the sea"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != 3 || !out[0].Salient || out[1].Salient || !out[2].Salient || s.Count(model.RoleFilter) != 2 {
		t.Errorf("%d calls, decisions %+v", s.Count(model.RoleFilter), out)
	}
}

func TestWhatIsTooMuchForOneAnswerIsRatedInHalves(t *testing.T) {
	s := llmtest.New(t)
	s.Script(model.RoleFilter, llmtest.Truncated())
	out, err := newFilter(t, s).Filter(t.Context(), scope, turns("I have two sons now", "ok", "We live near the sea"), nil)
	if err != nil || len(out) != 3 || !out[0].Salient || out[1].Salient || !out[2].Salient {
		t.Fatalf("decisions %+v, error %v", out, err)
	}
	var last struct{ Context, Turns []struct{ Text string } }
	calls := s.Calls(model.RoleFilter)
	if err := json.Unmarshal(calls[len(calls)-1].Data(), &last); err != nil {
		t.Fatal(err)
	}
	if len(calls) != 3 || len(last.Turns) != 2 || len(last.Context) != 1 || last.Context[0].Text != "I have two sons now" {
		t.Errorf("%d calls, the last of %+v", len(calls), last)
	}
}

func TestTheModelReadsTurnsWithThoseBeforeAndOneSessionAtATime(t *testing.T) {
	s := llmtest.New(t)
	opts := llm.DefaultOptions()
	opts.FilterBatch = 2
	f, err := llm.NewFilter(s.Client(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	in, before := turns("I have two sons", "other session", "ok", "We live near the sea"), turns("before", "elsewhere")
	in[1].SessionID, before[1].SessionID = "s9", "s8"
	out, err := f.Filter(t.Context(), scope, in, before)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != 4 || !out[0].Salient || out[2].Salient || !out[3].Salient {
		t.Errorf("decisions %+v", out)
	}
	type shown struct{ ID, Text string }
	var asked [][2][]shown
	for _, c := range s.Calls(model.RoleFilter) {
		var data struct{ Context, Turns []shown }
		if err := json.Unmarshal(c.Data(), &data); err != nil {
			t.Fatal(err)
		}
		asked = append(asked, [2][]shown{data.Context, data.Turns})
	}
	want := [][2][]shown{
		{{{"x1", "before"}}, {{"t1", "I have two sons"}, {"t2", "ok"}}},
		{{{"x1", "before"}, {"x2", "I have two sons"}, {"x3", "ok"}}, {{"t1", "We live near the sea"}}},
		{nil, {{"t1", "other session"}}},
	}
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
}

func TestOptionsAndModelsAreChecked(t *testing.T) {
	s := llmtest.New(t)
	cfg := s.Config()
	cfg.Model, cfg.EmbeddingModel = "", "only-embeds"
	c, err := model.NewClient(cfg, model.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := llm.NewFilter(c, llm.DefaultOptions()); err == nil || !strings.Contains(err.Error(), "filter") {
		t.Errorf("a filter without a model: %v", err)
	}
	if _, err := llm.NewFilter(s.Client(t), llm.Options{Threshold: 2}); err == nil {
		t.Error("options out of range were accepted")
	}
	if _, err := llm.NewFilter(s.Client(t), llm.Options{PromptDir: "/does/not/exist", FilterBatch: 1,
		Related: 1}); err == nil {
		t.Error("a prompt directory that does not exist was accepted")
	}
}

func TestVersionsNameOverriddenPromptsAndModels(t *testing.T) {
	s := llmtest.New(t)
	cfg := s.Config()
	c, err := model.NewClient(cfg, model.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	opts := llm.DefaultOptions()
	opts.PromptDir = t.TempDir()
	override := `{{define "system"}}Rate.{{end}}{{define "user"}}{{.Params.Count}} turns: {{.Data}}{{end}}`
	if err := os.WriteFile(filepath.Join(opts.PromptDir, "filter.v4.tmpl"), []byte(override), 0o600); err != nil {
		t.Fatal(err)
	}
	filter, err := llm.NewFilter(c, opts)
	if err != nil {
		t.Fatal(err)
	}
	if v := filter.Version(); !strings.HasPrefix(v, "llm/filter.v4+") || !strings.HasSuffix(v, "/scripted") {
		t.Errorf("filter version is %s", v)
	}
	if _, err := filter.Filter(t.Context(), scope, turns("We have two cats now"), nil); err != nil {
		t.Fatal(err)
	}
	if got := s.Calls(model.RoleFilter)[0]; got.System() != "Rate." || !strings.HasPrefix(got.User(), "1 turns: ") {
		t.Errorf("the override is not used: %s", got.Raw)
	}
}
