package memoryr2_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/memoryr2"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// For any operations of a model, they are refused as a whole, or every fact is decided and the bank can apply them. No
// update loses a claim.
func TestAnyAnswerIsRefusedOrApplicable(t *testing.T) {
	s := llmtest.New(t)
	former, err := memoryr2.NewLLM(s.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	existing := []memory.Memory{stored("m-1", "Ana rents in Rome."), stored("m-2", "Ana rents 2 flats.")}
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		b := bundle([]string{"Ana: x", "Ana: y", "Ana: z"}, existing...)
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
		if _, err := memory.Plan(scope, out, existing, day); err != nil {
			t.Fatalf("%s cannot be applied: %v", answer, err)
		}
		contents := map[string]string{"m-1": existing[0].Content, "m-2": existing[1].Content}
		for _, op := range out {
			if op.New != nil {
				contents[op.New.ID] = op.New.Content
			}
			if op.Kind == memory.OpUpdate && len(memoryr2.Dropped(contents[op.Targets[0]], op.New.Content)) > 0 {
				t.Fatalf("%s loses a claim", answer)
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
		if rapid.IntRange(0, 19).Draw(t, "inject") == 0 {
			c = "c" + strconv.Itoa(rapid.IntRange(0, 4).Draw(t, "fact"))
		}
		kind := rapid.SampledFrom([]string{"INSERT", "INSERT", "UPDATE", "NONE", "DELETE"}).Draw(t, "op")
		target, content, contradicts := "", "", []string{}
		if kind == "DELETE" || rapid.IntRange(0, 4).Draw(t, "contradicts") == 0 {
			contradicts = rapid.SliceOfN(rapid.SampledFrom([]string{"m1", "m2", "m2", "c1"}), 1, 2).Draw(t, "which")
		}
		if kind == "UPDATE" || kind == "NONE" {
			target = rapid.SampledFrom(append([]string{"m1", "m2"}, order[:i]...)).Draw(t, "target")
		}
		if kind == "UPDATE" {
			content = rapid.SampledFrom([]string{"Ana rents two flats in Rome: x y z.", "Ana rents two flats in Rome.",
				"Ana rents.",
				""}).Draw(t, "content")
		}
		list = append(list, op(c, kind, target, content, contradicts...))
	}
	out, err := json.Marshal(ops(list...))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
