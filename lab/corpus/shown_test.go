package corpus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
)

// Each label belongs to an existing turn and to a request of the split that does not need it.
func TestShownTurnsAreOfTheirSplit(t *testing.T) {
	dialogues, err := corpus.Dialogues()
	if err != nil {
		t.Fatal(err)
	}
	for _, split := range []corpus.Split{corpus.Choose, corpus.Heldout} {
		needs, turns := map[string]string{}, map[string]bool{}
		for _, d := range dialogues {
			if d.Split() != split {
				continue
			}
			labelled := d.Labelled()
			for _, l := range labelled {
				turns[l.Turn.ID] = true
			}
			for _, r := range d.Requests {
				for _, n := range r.Needs {
					needs[r.Text] += labelled[n].Turn.ID + " "
				}
			}
		}
		shown, err := corpus.Shown(split)
		if err != nil || len(shown) < 150 {
			t.Fatalf("%s: %d turns, %v", split, len(shown), err)
		}
		for _, s := range shown {
			needed, asked := needs[s.Request]
			if !asked || !turns[s.Turn] || strings.Contains(needed, s.Turn+" ") {
				t.Errorf("%s: %+v is not of the split, or the request needs it: %q", split, s, needed)
			}
		}
	}
}

func TestReadShownRefusesWhatIsNone(t *testing.T) {
	for _, line := range []string{
		`{"request":"","turn":"d1:0","label":"related"}`, `{"request":"a","turn":"","label":"related"}`,
		`{"request":"a","turn":"d1:0","label":"maybe"}`, `[]`,
	} {
		if got, err := corpus.ReadShown("x", []byte(line)); !errors.Is(err, corpus.ErrShown) || len(got) != 0 {
			t.Errorf("%s: got %v, %v", line, got, err)
		}
	}
}
