package corpus_test

import (
	"errors"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
)

func TestAskedTalksHaveQuestionsOfAllKinds(t *testing.T) {
	talks, err := corpus.AskedTalks()
	if err != nil {
		t.Fatal(err)
	}
	asked, kinds, seen := 0, map[string]int{}, map[string]bool{}
	for _, talk := range talks {
		for _, q := range talk.Questions {
			if seen[q.Question] {
				t.Errorf("%s asks twice %q", talk.Batch, q.Question)
			}
			seen[q.Question] = true
			asked++
			kinds[q.Kind]++
		}
	}
	for _, kind := range corpus.AskedKinds() {
		if kinds[kind] < asked/100 {
			t.Errorf("%d of %d questions are of kind %s", kinds[kind], asked, kind)
		}
	}
	if asked < 4000 || len(talks) < 900 {
		t.Errorf("%d questions about %d talks", asked, len(talks))
	}
}

func TestReadAskedQuestionsRefusesWhatIsNone(t *testing.T) {
	for name, line := range map[string]string{
		"no question": `{"talk":0,"question":" ","evidence":["1"],"kind":"fact"}`,
		"no evidence": `{"talk":0,"question":"Where?","evidence":[],"kind":"fact"}`,
		"no kind":     `{"talk":0,"question":"Where?","evidence":["1"],"kind":"fancy"}`,
		"no talk":     `{"talk":-1,"question":"Where?","evidence":["1"],"kind":"fact"}`,
	} {
		if _, err := corpus.ReadAskedQuestions("b", []byte(line)); !errors.Is(err, corpus.ErrAsked) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
