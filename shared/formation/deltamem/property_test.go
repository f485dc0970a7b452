package deltamem_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/text"
)

// Any answer of an agent is refused, or is a search within the bounds, or can be applied by the bank. An applied
// answer decides every turn, and leaves no two valid entries with the same content.
func TestAnyAnswerIsRefusedOrApplicable(t *testing.T) {
	s := llmtest.New(t)
	f := newFormer(t, s)
	existing := []memory.Memory{stored("m-1", "Ana rents."), stored("m-2", "Ana lives in Rome.")}
	start := searched(t, s, f, bundle(t, f, "I rent.", "I moved.", "I sing."), existing...)
	accepted, searches := 0, 0
	check := func(t *rapid.T) {
		answer := drawAnswer(t)
		s.Always(llmtest.Text(answer))
		v, err := f.Decide(t.Context(), start)
		if err != nil {
			if !errors.Is(err, model.ErrMalformed) || v.Operations != nil || v.Lookups != nil {
				t.Fatalf("got %+v and %v", v, err)
			}
			return
		}
		if len(v.Lookups) > 0 {
			searches++
			if len(v.Lookups) > 4 || v.Operations != nil {
				t.Fatalf("%s became %+v", answer, v)
			}
			return
		}
		accepted++
		w, err := memory.Plan(scope, v.Operations, existing, day)
		if err != nil {
			t.Fatalf("%s cannot be applied: %v", answer, err)
		}
		if twice := repeated(existing, w); twice != "" {
			t.Fatalf("%s leaves %q twice", answer, twice)
		}
		decided := map[string]bool{}
		for _, op := range v.Operations {
			for _, id := range op.Sources {
				decided[id] = true
			}
		}
		for _, f := range v.Failed {
			for _, id := range f.Sources {
				decided[id] = true
			}
		}
		if len(decided) != 3 {
			t.Fatalf("%s decides on %v", answer, decided)
		}
	}
	for range 5 { // a hundred draws may have no search among them
		if rapid.Check(t, check); accepted > 0 && searches > 0 {
			return
		}
	}
	t.Errorf("%d answers were accepted, %d searched; the generator shows too little", accepted, searches)
}

// repeated returns a content that two valid entries have after a write.
func repeated(existing []memory.Memory, w memory.Write) string {
	closed, held := map[string]bool{}, map[string]bool{}
	for _, c := range w.Close {
		closed[c.ID] = true
	}
	for _, m := range append(existing[:len(existing):len(existing)], w.Put...) {
		words := text.Canonical(m.Content)
		if closed[m.ID] || m.Status != memory.StatusActive {
			continue
		}
		if held[words] {
			return words
		}
		held[words] = true
	}
	return ""
}

// drawAnswer makes answers that are right often enough to be accepted now and then.
func drawAnswer(t *rapid.T) string {
	a := finish()
	if rapid.IntRange(0, 4).Draw(t, "search") == 0 {
		a = search(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "where Ana lives", ""}), 0, 5).Draw(t,
			"queries")...)
	} else if n := rapid.IntRange(0, 4).Draw(t, "operations"); n > 0 {
		var list []object
		for range n {
			list = append(list, drawOperation(t))
		}
		a = finish(list...)
	}
	if rapid.IntRange(0, 19).Draw(t, "inject") == 0 {
		a["nothing"] = rapid.Bool().Draw(t, "nothing")
	}
	out, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func drawOperation(t *rapid.T) object {
	kind := rapid.SampledFrom([]string{"ADD", "ADD", "UPDATE", "NONE"}).Draw(t, "op")
	target, content := "", ""
	if kind == "UPDATE" || kind == "NONE" || rapid.IntRange(0, 19).Draw(t, "aim") == 0 {
		target = rapid.SampledFrom([]string{"m1", "m2", "m1", "m2", "m3", ""}).Draw(t, "target")
	}
	if kind != "NONE" {
		content = rapid.SampledFrom([]string{"Ana rents.", "Ana lives in Rome.", "Ana lives in Porto.", "Ana sings.",
			"ana sings",
			""}).Draw(t, "content")
	}
	var sources []string
	for range rapid.IntRange(1, 2).Draw(t, "sources") {
		sources = append(sources, "t"+strconv.Itoa(rapid.SampledFrom([]int{1, 2, 3, 1, 2, 3, 4}).Draw(t, "source")))
	}
	return op(kind, target, content, sources...)
}
