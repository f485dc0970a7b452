package corpus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

func dialogues(t *testing.T) []corpus.Dialogue {
	t.Helper()
	all, err := corpus.Dialogues()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestThereAreEnoughDialogues(t *testing.T) {
	all := dialogues(t)
	if len(all) < 300 {
		t.Errorf("%d dialogues, want 300 or more", len(all))
	}
	needed, ids := map[corpus.Split]int{}, map[string]bool{}
	for _, d := range all {
		if ids[d.ID] {
			t.Errorf("two dialogues are called %s", d.ID)
		}
		ids[d.ID] = true
		for _, l := range d.Labelled() {
			if l.Needed && l.Turn.Role == memory.RoleUser {
				needed[d.Split()]++
			}
		}
	}
	for split, least := range map[corpus.Split]int{corpus.Train: 300, corpus.Choose: 80, corpus.Heldout: 80} {
		if needed[split] < least {
			t.Errorf("%s has %d user turns that requests need, want %d or more", split, needed[split], least)
		}
	}
}

// trigrams returns the runs of three words of a text.
func trigrams(said string) map[string]bool {
	out := map[string]bool{}
	words := text.Words(said)
	for i := range max(0, len(words)-2) {
		out[words[i].Lower+" "+words[i+1].Lower+" "+words[i+2].Lower] = true
	}
	return out
}

func TestNoTurnOfAnotherSplitIsSaidAgain(t *testing.T) {
	type turn struct {
		split corpus.Split
		text  string
		runs  map[string]bool
	}
	var turns []turn
	holders := map[string][]int{}
	for _, d := range dialogues(t) {
		for _, s := range d.Turns {
			if runs := trigrams(s.Text); s.Role == memory.RoleUser && len(runs) >= 6 {
				for r := range runs {
					holders[r] = append(holders[r], len(turns))
				}
				turns = append(turns, turn{d.Split(), s.Text, runs})
			}
		}
	}
	for i, a := range turns {
		shared := map[int]int{}
		for r := range a.runs {
			for _, j := range holders[r] {
				if j > i && turns[j].split != a.split {
					shared[j]++
				}
			}
		}
		for j, n := range shared {
			if 2*n > min(len(a.runs), len(turns[j].runs)) {
				t.Errorf("%s and %s say nearly the same:\n%s\n%s", a.split, turns[j].split, a.text, turns[j].text)
			}
		}
	}
}

const goodDialogue = `{"id":"x-1","topic":"tea","person":"Ana","turns":[{"role":"user","text":"green tea only for me"},` +
	`{"role":"assistant","text":"Noted."}],"remember":[0],"requests":[{"text":"what shall I drink?","needs":[0]}]}`

func TestReadDialoguesRefusesWhatIsNone(t *testing.T) {
	d, err := corpus.ReadDialogues("x", []byte(goodDialogue+"\n\n"))
	if err != nil || len(d) != 1 || d[0].Batch != "x" {
		t.Fatalf("%v, %v", d, err)
	}
	if l := d[0].Labelled(); !l[0].Remember || !l[0].Needed || l[1].Remember || l[0].Turn.Speaker != "Ana" {
		t.Errorf("labelled %+v", l)
	}
	for name, change := range map[string][2]string{
		"a role of its own": {`"role":"user"`, `"role":"cook"`}, "no text": {`"Noted."`, `" "`},
		"no such turn":             {`"remember":[0]`, `"remember":[0,2]`},
		"a need that is forgotten": {`"needs":[0]`, `"needs":[1]`}, "a request without needs": {`"needs":[0]`, `"needs":[]`},
		"no id": {`"x-1"`, `""`}, "a field too many": {`"topic"`, `"subject":"","topic"`}, "no JSON": {`{"id"`, `id`},
	} {
		line := strings.Replace(goodDialogue, change[0], change[1], 1)
		if _, err := corpus.ReadDialogues("x", []byte(goodDialogue+"\n"+line)); line == goodDialogue ||
			!errors.Is(err, corpus.ErrDialogue) ||
			!strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestStatementsOfPairs(t *testing.T) {
	all, err := corpus.AllSaid()
	if err != nil || len(all) < 12_000 {
		t.Fatalf("%d statements, %v", len(all), err)
	}
	splits := map[corpus.Split]int{}
	for _, s := range all {
		splits[s.Split()]++
		if strings.TrimSpace(s.Text) == "" {
			t.Errorf("%s has an empty statement", s.Batch)
		}
	}
	if splits[corpus.Train] == 0 || splits[corpus.Choose] == 0 || splits[corpus.Heldout] == 0 {
		t.Errorf("splits %v", splits)
	}
}
