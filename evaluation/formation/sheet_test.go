package formation_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// lives are two users, one of whom says more. Ana's flat comes up again.
const lives = `{"user_id":"ana","session_id":"s1","speaker":"Ana","text":"My flat in Porto has a balcony.","time":"2026-01-01T10:00:00Z"}
{"user_id":"ana","session_id":"s1","speaker":"Bot","role":"assistant","text":"Nice!","time":"2026-01-01T10:00:01Z"}
{"user_id":"ana","session_id":"s1","speaker":"Ana","text":"I work as a nurse in a hospital.","time":"2026-01-01T10:00:02Z"}
{"user_id":"ana","session_id":"s2","speaker":"Ana","text":"The flat in Porto will be painted in June.","time":"2026-02-01T10:00:00Z"}
{"user_id":"ben","session_id":"s1","speaker":"Ben","text":"I am allergic to peanuts.","time":"2026-01-01T10:00:00Z"}
`

func sampled(t *testing.T, n int) []formation.Sheet {
	t.Helper()
	out, err := formation.Sample(t.Context(), formation.Options{
		Path: write(t, "lives.jsonl", lives), Embedder: builtin.New(),
		Variants: []formation.Variant{
			{Strategy: "salimory", Policy: "embedded", Filter: saliency.NewTrained(), Former: salimory.NewEmbedded()},
		},
	}, n)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestASampleHasEveryUserWithTurnsAround(t *testing.T) {
	two := sampled(t, 2)
	if len(two) != 2 || two[0].Speaker == two[1].Speaker {
		t.Fatalf("want a memory of each user, got %+v", two)
	}
	all := sampled(t, 100)
	if len(all) < 4 || all[0].ID != two[0].ID {
		t.Fatalf("want every memory in the same order, got %+v", all)
	}
	for _, x := range all {
		if x.Worth != "" || x.Kind == "" || !strings.Contains(x.Turn, x.Memory[:8]) {
			t.Errorf("a sheet is blind and shows its turn: %+v", x)
		}
		if strings.Contains(x.Memory, "balcony") &&
			(x.Date != "2026-01-01" || len(x.Later) != 1 || !strings.Contains(x.Later[0], "painted")) {
			t.Errorf("want what was said later: %+v", x)
		}
		if strings.Contains(x.Memory, "nurse") && (x.Before != "Bot: Nice!" || len(x.Later) > 0) {
			t.Errorf("want the turn before, and nothing later: %+v", x)
		}
	}
}

func TestLabelsAreCounted(t *testing.T) {
	sheets := sampled(t, 4)
	for i, l := range []formation.Labels{
		{Worth: "yes", Alone: "yes", Kind: "yes", Holds: "yes"}, {Worth: "part", Alone: "no", Kind: "yes", Holds: "yes"},
		{Worth: "no", Alone: "no", Kind: "no", Holds: "yes"}, {Worth: "yes", Alone: "yes", Kind: "yes", Holds: "no"},
	} {
		sheets[i].Labels = l
	}
	lines := func() *bytes.Buffer {
		var b bytes.Buffer
		for _, x := range sheets {
			_ = json.NewEncoder(&b).Encode(x) // a write to a buffer never fails
		}
		return &b
	}
	got, err := formation.Judge(lines())
	want := formation.Judged{Memories: 4, Worth: 0.5, Part: 0.25, Junk: 0.25, Alone: 0.5, Kind: 0.75, Holds: 0.75}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	sheets[2].Alone = ""
	if _, err := formation.Judge(lines()); !errors.Is(err, formation.ErrSheet) ||
		!strings.Contains(err.Error(), `line 3: alone is ""`) {
		t.Errorf("a missing label is an error that names it, got %v", err)
	}
}
