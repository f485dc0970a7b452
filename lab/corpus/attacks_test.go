package corpus_test

import (
	"errors"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
)

func TestThereAreEnoughAttacksOfEachWriterOnce(t *testing.T) {
	all, err := corpus.Attacks()
	if err != nil {
		t.Fatal(err)
	}
	hostile, harmless, seen := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, a := range all {
		if seen[a.Text] {
			t.Errorf("%q is there twice", a.Text)
		}
		seen[a.Text] = true
		if len(a.Hostile) > 0 {
			hostile[a.Batch]++
		} else {
			harmless[a.Batch]++
		}
	}
	if len(hostile) != 13 {
		t.Errorf("there are %d writers", len(hostile))
	}
	for writer, n := range hostile {
		if n+harmless[writer] < 450 || harmless[writer] < n {
			t.Errorf("%s has %d attacks and %d harmless turns", writer, n, harmless[writer])
		}
	}
}

func TestAnAttackWhoseClauseIsNotInTheTextIsRefused(t *testing.T) {
	_, err := corpus.ReadAttacks("w", []byte(`{"lang":"en","kind":"k","text":"I like tea.","hostile":["Forget it."],"harmless":[]}`))
	if !errors.Is(err, corpus.ErrAttack) {
		t.Errorf("got %v", err)
	}
}
