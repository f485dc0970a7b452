package salimory_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// For any operations of a model, they are refused as a whole, or every candidate is decided once and the bank can
// apply them.
func TestAnyAnswerIsRefusedOrApplicable(t *testing.T) {
	s := llmtest.New(t)
	former, err := salimory.NewLLM(s.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	existing := []memory.Memory{stored("m-1", "a"), stored("m-2", "b")}
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		b := bundle([]string{"x", "y", "z"}, existing...)
		answer := drawAnswer(t)
		s.Always(llmtest.Text(answer))
		out, err := operations(t.Context(), former, b)
		if err != nil {
			if !errors.Is(err, model.ErrMalformed) || out != nil {
				t.Fatalf("got %+v and %v", out, err)
			}
			return
		}
		accepted++
		if len(out) != 3 {
			t.Fatalf("%d operations for 3 candidates", len(out))
		}
		if _, err := memory.Plan(scope, out, existing, day); err != nil {
			t.Fatalf("%s cannot be applied: %v", answer, err)
		}
	})
	if accepted == 0 {
		t.Error("no answer was accepted; the generator shows nothing")
	}
}

// drawAnswer makes operations that are right often enough to be accepted now and then.
func drawAnswer(t *rapid.T) string {
	kinds := []string{"ADD", "UPDATE", "MERGE", "DELETE", "NONE"}
	order := rapid.Permutation([]string{"c1", "c2", "c3"}).Draw(t, "order")
	var list []object
	for i, c := range order {
		if rapid.IntRange(0, 19).Draw(t, "inject") == 0 {
			c = "c" + strconv.Itoa(rapid.IntRange(0, 4).Draw(t, "candidate"))
		}
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		targets := []string{}
		if kind != "ADD" {
			known := append([]string{"m1", "m2"}, order[:i]...)
			targets = rapid.SliceOfN(rapid.SampledFrom(known), 0, 2).Draw(t, "targets")
		}
		list = append(list, op(c, kind, rapid.SampledFrom([]string{"Ana rents.", "Ana rents.", ""}).Draw(t, "content"),
			targets...))
	}
	out, err := json.Marshal(ops(list...))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
