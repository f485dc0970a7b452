package rmm_test

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// For any operations of a model, they are refused as a whole, or every candidate is decided once and the bank can
// apply them. No speaker's topic replaces another speaker's topic.
func TestAnyAnswerIsRefusedOrApplicable(t *testing.T) {
	s := llmtest.New(t)
	former := newFormer(t, s)
	existing := []memory.Memory{stored("m-1", "ana", "a"), stored("m-2", "bea", "b"), stored("m-3", "ana", "c")}
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		b := bundle([]string{"x", "y", "z"}, existing...)
		b.Related[2].Candidate.Keywords = []string{"bea"}
		answer := drawAnswer(t)
		s.Always(llmtest.Text(answer))
		v, err := formationtest.DecideWhole(t.Context(), former, b)
		if err != nil {
			if !errors.Is(err, model.ErrMalformed) || v.Operations != nil {
				t.Fatalf("got %+v and %v", v, err)
			}
			return
		}
		accepted++
		if len(v.Operations) != 3 {
			t.Fatalf("%d operations for 3 candidates", len(v.Operations))
		}
		if _, err := memory.Plan(scope, v.Operations, existing, day); err != nil {
			t.Fatalf("%s cannot be applied: %v", answer, err)
		}
		owner := map[string]string{"m-1": "ana", "m-2": "bea", "m-3": "ana"}
		for _, o := range v.Operations {
			if o.New == nil {
				continue
			}
			owner[o.New.ID] = o.New.Keywords[0]
			for _, target := range o.Targets {
				if owner[target] != owner[o.New.ID] {
					t.Fatalf("%s merges across speakers", answer)
				}
			}
		}
	})
	if accepted == 0 {
		t.Error("no answer was accepted; the generator shows nothing")
	}
}

// drawAnswer makes operations that are right often enough to be accepted now and then.
func drawAnswer(t *rapid.T) string {
	order := rapid.Permutation([]string{"c1", "c2", "c3"}).Draw(t, "order")
	var list []object
	for i, c := range order {
		known := append([]string{"m1", "m2", "m3"}, order[:i]...)
		o := op(c, "Add", "", "")
		if rapid.Bool().Draw(t, "merge") {
			o = op(c, "Merge", rapid.SampledFrom(known).Draw(t, "target"),
				rapid.SampledFrom([]string{"a", "b", "c", "Both.", "Both.", ""}).Draw(t, "summary"))
		}
		if rapid.IntRange(0, 19).Draw(t, "inject") == 0 {
			o["candidate"] = "c4"
		}
		list = append(list, o)
	}
	out, err := json.Marshal(ops(list...))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
