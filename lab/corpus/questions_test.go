package corpus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
)

func TestThereAreEnoughQuestionsAndNoneIsInTwoSplits(t *testing.T) {
	seen := map[string]corpus.Split{}
	for split, least := range map[corpus.Split]int{corpus.Train: 1500, corpus.Choose: 180, corpus.Heldout: 350} {
		questions, err := corpus.Questions(split)
		if err != nil {
			t.Fatal(err)
		}
		if len(questions) < least {
			t.Errorf("%s has %d questions, want %d or more", split, len(questions), least)
		}
		labels, languages := map[string]int{}, map[string]int{}
		for _, q := range questions {
			labels[q.Label]++
			languages[q.Language]++
			key := strings.ToLower(q.Text)
			if other, ok := seen[key]; ok {
				t.Errorf("%q is in %s and %s", q.Text, other, split)
			}
			seen[key] = split
		}
		for _, label := range []string{"present", "past", "event"} {
			if labels[label] < len(questions)/10 {
				t.Errorf("%s has %d of %d that are %s", split, labels[label], len(questions), label)
			}
		}
		if len(languages) != 5 {
			t.Errorf("%s has languages %v, want 5", split, languages)
		}
	}
}

func TestReadQuestionsRefuses(t *testing.T) {
	for name, line := range map[string]string{
		"no JSON": `{`, "a label there is none of": `{"text":"a","label":"future","at":"","language":"en"}`,
		"no text":                 `{"text":" ","label":"past","at":"","language":"en"}`,
		"no language":             `{"text":"a","label":"past","at":"","language":""}`,
		"a time not in the text":  `{"text":"a","label":"past","at":"2020","language":"en"}`,
		"a time with the present": `{"text":"a 2020","label":"present","at":"2020","language":"en"}`,
	} {
		if _, err := corpus.ReadQuestions("q", []byte(line)); !errors.Is(err, corpus.ErrQuestion) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
