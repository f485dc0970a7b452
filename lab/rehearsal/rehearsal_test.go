package rehearsal_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/synthesis/questions"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

// The memories of a made-up conversation keep most evidence, and weights with knowledge of the answer find all kept
// evidence.
func TestRehearsalKnowsTheEvidence(t *testing.T) {
	g, err := questions.New(questions.Options{Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	subjects := g.Subjects("acme")
	s, weights := subjects[0], make([]float32, len(features.Names()))
	rehearsed, err := rehearsal.Rehearse(t.Context(), builtin.New(), subjects, weights, 0,
		func(_ dataset.Subject, r rehearsal.Rehearsed) (rehearsal.Rehearsed, error) { return r, nil })
	if err != nil {
		t.Fatal(err)
	}
	all := rehearsed[0]
	// Questions about untold facts have no evidence.
	answered := slices.DeleteFunc(slices.Clone(s.Questions), func(q dataset.Question) bool { return !q.HasEvidence() })
	if len(answered) == 0 || len(answered) == len(s.Questions) {
		t.Fatalf("%d questions of %d have evidence", len(answered), len(s.Questions))
	}
	if len(all) != len(answered) {
		t.Fatalf("%d questions of %d", len(all), len(answered))
	}
	found := 0.0
	for _, r := range all {
		oracle := ranking.Weights{FeatureSet: features.FeatureSet, W: []float32{1}}
		for i, relevant := range r.Example.Relevant {
			r.Example.Features[i], r.Example.Cosine[i] = []float32{0}, 0
			if relevant {
				r.Example.Features[i] = []float32{1}
			}
		}
		at, err := r.RecallAt(oracle, 1, 7)
		if err != nil {
			t.Fatal(err)
		}
		if at[0] > at[1] || slices.Contains(r.Example.Relevant, true) != (at[0] > 0) {
			t.Errorf("%q: recall %v with %d turns of evidence", r.Question.Text, at, len(r.Question.Evidence))
		}
		found += at[1] / float64(len(all))
	}
	if found < 0.9 {
		t.Errorf("%.2f of the evidence is remembered", found)
	}
}

// Newer memories come behind the best candidates. All together are no more than the ranking accepts.
func TestRetrieveKeepsToTheMostCandidates(t *testing.T) {
	scope := memory.Scope{Tenant: "acme", User: "ana"}
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	embedder := builtin.New()
	var w memory.Write
	for n := range 2*ranking.MaxCandidates + 40 { // more newer ones than candidates
		m := memory.Memory{
			ID: memory.DeriveID(scope, []string{fmt.Sprint("t", n)}, n), Kind: memory.KindFact,
			Content: fmt.Sprintf("I bought plant %d", n), Sources: []string{fmt.Sprint("t", n)}, SessionID: "s",
			RecordedAt: at, ValidFrom: at, Status: memory.StatusActive, Version: 1,
			Strategy: "salimory", PolicyVersion: "test/1", OperationID: "op", Vector: make(memory.Vector, embedder.Dimension()),
		}
		m.Vector[n%embedder.Dimension()] = 1
		for _, older := range w.Put[:min(n, 2)] {
			m.Links = append(m.Links, older.ID)
		}
		w.Put = append(w.Put, m)
	}
	store := inmem.New(embedder.Dimension())
	if err := store.Write(t.Context(), scope, w); err != nil {
		t.Fatal(err)
	}
	question := dataset.Question{Text: "Which plants?", Evidence: []string{"t1"}, AskedAt: at}
	s := dataset.Subject{Scope: scope, Questions: []dataset.Question{question}}
	weights, asked := make([]float32, len(features.Names())), 0
	for _, k := range []int{ranking.MaxCandidates, 0} {
		want := map[bool]int{true: len(w.Put), false: ranking.MaxCandidates}[k == 0]
		err := rehearsal.Retrieve(t.Context(), embedder, store, s, weights, k, func(r rehearsal.Rehearsed) error {
			asked++
			if len(r.Candidates) != want {
				t.Errorf("%d asked for: %d candidates, want %d", k, len(r.Candidates), want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if asked != 2 {
		t.Errorf("%d questions were asked", asked)
	}
}
