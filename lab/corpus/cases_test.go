package corpus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
)

const goodCase = `{"id":"x-1","kind":"move","first":[{"speaker":"Ana","role":"user","text":"I live in Porto"}],` +
	`"second":[{"speaker":"Ana","role":"user","text":"I moved to Lyon"}],"keep":[],"close":["live in Porto"],"speaker":"Ana"}`

func TestReadCasesRefusesWhatIsNone(t *testing.T) {
	if cases, err := corpus.ReadCases([]byte(goodCase + "\n\n")); err != nil || len(cases) != 1 || cases[0].ID != "x-1" {
		t.Fatalf("%v, %v", cases, err)
	}
	if cases, err := corpus.Cases(); err != nil || len(cases) < 100 {
		t.Errorf("%d cases, %v", len(cases), err)
	}
	for name, change := range map[string][2]string{
		"no id": {`"x-1"`, `""`}, "words that nobody says": {`"live in Porto"`, `"live in Rome"`},
		"nothing to close":        {`["live in Porto"]`, `[]`},
		"a field too many":        {`"kind"`, `"sort":"","kind"`},
		"a turn's field too many": {`"text":"I m`, `"says":"","text":"I m`},
		"no JSON":                 {`{"id"`, `id`},
	} {
		line := strings.Replace(goodCase, change[0], change[1], 1)
		if _, err := corpus.ReadCases([]byte(goodCase + "\n" + line)); line == goodCase || !errors.Is(err, corpus.ErrCase) ||
			!strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
