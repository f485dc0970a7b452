package export_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/mneme-memory/mneme/lab/export"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/store/records"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func say(role, content string) llm.Message { return llm.Message{Role: role, Content: content} }

// recorded returns three calls: one right at first, one repaired, and one never right.
func recorded() []records.Call {
	begin := []llm.Message{say("system", "rules"), say("user", "say yes")}
	record := func(user string, valid llm.Validity, more ...llm.Message) llm.Record {
		return llm.Record{
			Scope: memory.Scope{Tenant: "acme", User: user}, At: now, Role: llm.RoleManager, Strategy: "salimory",
			Prompt: "salimory-manager.v4",
			Model:  "m", Messages: append(begin[:2:2], more...), Valid: valid,
			Touch: memory.Touch{Memories: []string{"m-1", "m-2"}},
		}
	}
	return []records.Call{
		{Record: record("ana", llm.ValidFirst, say("assistant", "yes")), Outcomes: map[string]records.Outcome{
			"m-1": {Recalled: 3, Cited: 1}, "m-2": {Recalled: 1, Superseded: true},
		}},
		{Record: record("ana", llm.ValidRepaired, say("assistant", "maybe"), say("user", "that is no answer"),
			say("assistant", "yes"))},
		{Record: record("bea", llm.Invalid, say("assistant", "why"), say("user", "that is no answer"),
			say("assistant", "how"))},
	}
}

func each(calls []records.Call, end error) iter.Seq2[records.Call, error] {
	return func(yield func(records.Call, error) bool) {
		for _, c := range calls {
			if !yield(c, nil) {
				return
			}
		}
		if end != nil {
			yield(records.Call{}, end)
		}
	}
}

func read(t *testing.T, path string) (out []map[string]any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		out = append(out, line)
	}
	return out
}

// talk returns a conversation as decoded JSON, from alternating roles and contents.
func talk(parts ...string) (out []any) {
	for i := 0; i < len(parts); i += 2 {
		out = append(out, map[string]any{"role": parts[i], "content": parts[i+1]})
	}
	return out
}

func TestConversationsForTRL(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	m, err := export.Write(dir, export.TRL, each(recorded(), nil), now)
	if err != nil {
		t.Fatal(err)
	}
	want := export.Manifest{
		Format: export.TRL, CreatedAt: now, Records: 3, Users: 2,
		Files:   map[string]int{"prompts.jsonl": 3, "sft.jsonl": 2, "preference.jsonl": 1},
		Prompts: []string{"salimory-manager.v4"}, Models: []string{"m"}, Roles: map[llm.Role]int{llm.RoleManager: 3},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("manifest %+v", m)
	}
	var kept export.Manifest
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil || json.Unmarshal(data, &kept) != nil || !reflect.DeepEqual(kept, want) {
		t.Errorf("the manifest is kept as %s, %v", data, err)
	}
	question := talk("system", "rules", "user", "say yes")
	if got := read(t, filepath.Join(dir, "sft.jsonl")); !reflect.DeepEqual(got[1]["messages"],
		append(question, talk("assistant", "yes")...)) {
		t.Errorf("a repaired answer is learned as %v", got[1])
	}
	pair := read(t, filepath.Join(dir, "preference.jsonl"))[0]
	if !reflect.DeepEqual(pair["prompt"], question) || !reflect.DeepEqual(pair["chosen"], talk("assistant", "yes")) ||
		!reflect.DeepEqual(pair["rejected"], talk("assistant", "maybe")) {
		t.Errorf("pair %v", pair)
	}
	prompts := read(t, filepath.Join(dir, "prompts.jsonl"))
	if p := prompts[0]; p["recalled"] != 4.0 || p["cited"] != 1.0 || p["superseded"] != 1.0 || p["answer"] != "yes" {
		t.Errorf("prompt %v", p)
	}
	if p := prompts[2]; p["valid"] != "no" || p["answer"] != "" {
		t.Errorf("prompt %v", p)
	}
}

func TestAnAnswerThatIsPartlyRightIsNoAnswerToLearn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	partly := recorded()[1]
	partly.Valid = llm.ValidPartly
	m, err := export.Write(dir, export.TRL, each([]records.Call{partly}, nil), now)
	if err != nil || m.Files["prompts.jsonl"] != 1 || m.Files["sft.jsonl"] != 0 || m.Files["preference.jsonl"] != 0 {
		t.Fatalf("manifest %+v, %v", m, err)
	}
	if p := read(t, filepath.Join(dir, "prompts.jsonl"))[0]; p["valid"] != "partly" || p["answer"] != "" {
		t.Errorf("prompt %v", p)
	}
}

func TestParquetForVeRL(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	m, err := export.Write(dir, export.VeRL, each(recorded(), nil), now)
	if err != nil || m.Files["train.parquet"] != 3 {
		t.Fatalf("manifest %+v, %v", m, err)
	}
	type row struct {
		DataSource string `parquet:"data_source"`
		Prompt     []struct {
			Role    string `parquet:"role"`
			Content string `parquet:"content"`
		} `parquet:"prompt,list"`
		Ability     string `parquet:"ability"`
		RewardModel struct {
			Style       string `parquet:"style"`
			GroundTruth string `parquet:"ground_truth"`
		} `parquet:"reward_model"`
		ExtraInfo struct {
			Index    int64  `parquet:"index"`
			Valid    string `parquet:"valid"`
			Recalled int64  `parquet:"recalled"`
		} `parquet:"extra_info"`
	}
	got, err := parquet.ReadFile[row](filepath.Join(dir, "train.parquet"))
	if err != nil || len(got) != 3 {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	r := got[0]
	if r.DataSource != "mneme-recorded/manager" || len(r.Prompt) != 2 || r.Prompt[1].Content != "say yes" ||
		r.Ability != "memory" ||
		r.RewardModel.GroundTruth != "yes" || r.ExtraInfo.Recalled != 4 || got[2].ExtraInfo.Valid != "no" ||
		got[2].ExtraInfo.Index != 2 {
		t.Errorf("rows %+v", got)
	}
}

func TestNothingIsLeftHalfWritten(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "data")
	away := errors.New("the store is away")
	if _, err := export.Write(dir, export.TRL, each(recorded(), away), now); !errors.Is(err, away) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if _, err := export.Write(parent, export.TRL, each(nil, nil), now); !fault.IsTerminal(err) {
		t.Errorf("into a folder that is there: %v", err)
	}
	if _, err := export.Write(dir, "csv", each(nil, nil), now); !fault.IsTerminal(err) {
		t.Errorf("in a format that is none: %v", err)
	}
}
