package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/cli"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

func TestTrainRerankerWritesAPrior(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prior.json")
	var out, errOut bytes.Buffer
	code := cli.Execute(t.Context(),
		[]string{"train", "reranker", "--conversations", "1", "--users", "0", "--askers", "0", "--seed", "9", "--out", file,
			"--json"}, &out,
		&errOut)
	if code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	var measures training.PriorReport
	if err := json.Unmarshal(out.Bytes(), &measures); err != nil || measures.Questions == 0 ||
		measures.Heldout.Recall20 <= measures.Heldout.Recall5 {
		t.Errorf("printed %q: %v", &out, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ranking.DecodePrior(data, features.FeatureSet, features.Names()); err != nil {
		t.Error(err)
	}
}

func TestTrainRerankerRefusesWhatCannotBe(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := cli.Execute(t.Context(), []string{"train", "reranker", "--conversations", "0"}, &out,
		&errOut); code != command.ExitUsage {
		t.Errorf("exit code %d, want %d: %s", code, command.ExitUsage, &errOut)
	}
}

// ownConversations are two users' conversations in LoCoMo's form, each with a question and its evidence.
const ownConversations = `[
{"sample_id": "garden", "conversation": {"speaker_a": "Ana", "speaker_b": "Ben", "session_1_date_time": "1:00 pm on 8 May, 2023",
 "session_1": [
 {"speaker": "Ana", "dia_id": "D1:1", "text": "I planted a cherry tree behind my house last week."},
 {"speaker": "Ben", "dia_id": "D1:2", "text": "I bought a red bicycle in Lisbon."},
 {"speaker": "Ana", "dia_id": "D1:3", "text": "My sister Eva moved to Vienna in April."}]},
 "qa": [{"question": "What did Ana plant?", "answer": "a cherry tree", "evidence": ["D1:1"], "category": 4}]},
{"sample_id": "kitchen", "conversation": {"speaker_a": "Cleo", "speaker_b": "Dan", "session_1_date_time": "2:00 pm on 9 May, 2023",
 "session_1": [
 {"speaker": "Cleo", "dia_id": "D1:1", "text": "I am allergic to peanuts, so I bake with almonds."},
 {"speaker": "Dan", "dia_id": "D1:2", "text": "I play the violin in an orchestra in Graz."},
 {"speaker": "Cleo", "dia_id": "D1:3", "text": "My brother Finn works at a bakery."}]},
 "qa": [{"question": "Which instrument does Dan play?", "answer": "violin", "evidence": ["D1:2"], "category": 4}]}]`

func TestTrainRerankerFitsToAnEmbedder(t *testing.T) {
	server := llmtest.New(t, llmtest.WithDimension(80))
	t.Setenv("MNEME_LLM_BASE_URL", server.Config().BaseURL)
	t.Setenv("MNEME_LLM_MODEL_EMBEDDING", "tiny")
	folder := t.TempDir()
	data, file := filepath.Join(folder, "own.json"), filepath.Join(folder, "prior.json")
	if err := os.WriteFile(data, []byte(ownConversations), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	given := []string{"train", "reranker", "--data", data, "--embedding", "endpoint", "--maps", "on", "--out", file}
	if code := cli.Execute(t.Context(), given, &out, &errOut); code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	prior, err := ranking.DecodePrior(written, features.FeatureSet, features.Names())
	if err != nil || prior.Embedding != "tiny/80" || len(prior.Weights.Aq) != ranking.Rank*ranking.Rank {
		t.Errorf("fitted to %q with maps of %d cells, %v", prior.Embedding, len(prior.Weights.Aq), err)
	}
	for _, want := range []string{"2 questions of 2 users", "tiny/80", "fitted, maps on", "before: the", "with maps"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, &out)
		}
	}
	out.Reset()
	var report struct {
		Questions     int
		Recall, Gains []json.RawMessage
	}
	given = []string{"train", "reranker", "--data", data, "--embedding", "builtin", "--json"}
	if code := cli.Execute(t.Context(), given, &out, &errOut); code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	err = json.Unmarshal(out.Bytes(), &report)
	if err != nil || report.Questions != 2 || len(report.Recall) != 4*4*3 || len(report.Gains) != 6 {
		t.Errorf("printed %s: %v", &out, err)
	}
}

func TestTrainRerankerRefusesAnEmbedderOrFileThatIsNotThere(t *testing.T) {
	for _, given := range [][]string{
		{"--embedding", "magic"}, {"--embedding", "endpoint"}, {"--embedding", "encoder"},
		{"--embedding", "builtin", "--parts", "1"},
		{"--data", filepath.Join(t.TempDir(), "none.json")},
	} {
		var out, errOut bytes.Buffer
		code := cli.Execute(t.Context(), append([]string{"train", "reranker", "--conversations", "2"}, given...), &out,
			&errOut)
		if code != command.ExitUsage {
			t.Errorf("%v: exit code %d, want %d: %s", given, code, command.ExitUsage, &errOut)
		}
	}
}
