package reranker_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// Feedback in the meantime becomes dead letters, which can be replayed. Learned weights are never deleted
// automatically.
func TestARollbackTakesThePlaceOfWhatCannotBeRead(t *testing.T) {
	r := start(t, nil)
	r.teach(ana, "b", 4)
	before := r.list("acme").GetVersions()[0].GetVersion()
	kept, err := r.parts.Store.Load(t.Context(), "acme", 0)
	if err != nil {
		t.Fatal(err)
	}
	corrupted := weights.Change{From: kept.Revision, Body: []byte("?"),
		Versions: []weights.Version{{Number: before + 6, Body: []byte("?")}}}
	if err := r.parts.Store.Commit(t.Context(), "acme", corrupted); err != nil {
		t.Fatal(err)
	}
	if err := r.learner.Handle(t.Context(), []bus.Message{r.report(ana, r.recall(ana), []string{"b"}, "a",
		"b")}); !fault.IsTerminal(err) {
		t.Errorf("a report on what cannot be read gives %v, want a terminal error", err)
	}
	if got := r.rollback("acme", before).GetVersion(); got != before+7 {
		t.Errorf("rolled back to version %d, want %d: numbers are never given twice", got, before+7)
	}
	if got := r.rollback("acme", 0).GetVersion(); got != before+8 {
		t.Errorf("rolled back to version %d, want %d", got, before+8)
	}
	r.teach(ana, "b", 4)
	if got := r.list("acme").GetVersions()[0].GetVersion(); got != before+9 {
		t.Errorf("learned version %d, want %d", got, before+9)
	}
}
