package corpus_test

import (
	"errors"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
)

func TestNotedTalksHaveTurnsWithAndWithoutNotes(t *testing.T) {
	talks, err := corpus.NotedTalks(corpus.Train)
	if err != nil {
		t.Fatal(err)
	}
	turns, noted, ends, seen, langs := 0, 0, 0, map[string]bool{}, map[string]bool{}
	for _, talk := range talks {
		langs[talk.Lang] = true
		for _, u := range talk.Turns {
			if u.Who == "assistant" {
				continue
			}
			if len(u.Text) > 60 && seen[u.Text] {
				t.Errorf("%s says twice %q", talk.Batch, u.Text)
			}
			seen[u.Text] = true
			turns++
			if len(u.Entries) > 0 {
				noted++
			}
			for _, e := range u.Entries {
				if len(e.Ends) > 0 {
					ends++
				}
			}
		}
	}
	if turns < 8000 || noted < turns/3 || noted > 2*turns/3 || ends < 500 || len(langs) < 15 {
		t.Errorf("%d turns, %d with notes, %d notes that end others, %d languages", turns, noted, ends, len(langs))
	}
}

func TestReadNotedTalksRefusesWhatIsNone(t *testing.T) {
	const before = `{"lang":"en","turns":[{"id":"1","who":"user","text":"a"},{"id":"2","who":"user","text":"I ski",` +
		`"entries":[{"id":"2a","memory":"m",`
	for name, line := range map[string]string{
		"no turns":     `{"lang":"en","turns":[]}`,
		"another span": before + `"spans":["I swim"],"kind":"fact"}]}]}`,
		"another kind": before + `"spans":["I ski"],"kind":"rule"}]}]}`,
		"ends nothing": before + `"spans":["I ski"],"kind":"fact","ends":["1a"]}]}]}`,
	} {
		if _, err := corpus.ReadNotedTalks("b", []byte(line)); !errors.Is(err, corpus.ErrNote) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
