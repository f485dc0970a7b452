package membuilder_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/membuilder"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// For any answers of the roles, the session is refused as a whole, or bank and block can apply the decisions.
func TestAnyAnswerIsRefusedOrApplicable(t *testing.T) {
	s := llmtest.New(t)
	former, err := membuilder.NewLLM(s.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		b := known(model.RoleCore)
		b.Core = memory.Core{Content: filled(rapid.SampledFrom([]int{0, 10, 4400, 4600}).Draw(t, "length")), Version: 1}
		answers := map[model.Role]string{model.RoleCore: drawCore(t),
			"compress": encode(t, object{"content": filled(rapid.SampledFrom([]int{0, 100, 3500}).Draw(t, "short"))})}
		for _, role := range entry {
			answers[role] = drawOperations(t, role)
		}
		s.Always(llmtest.Reply(func(c llmtest.Call) string {
			var in data
			if json.Unmarshal(c.Data(), &in) == nil && in.Below > 0 {
				return answers["compress"]
			}
			return answers[c.Role]
		}))
		v, err := former.Decide(t.Context(), b)
		if err != nil {
			if !errors.Is(err, model.ErrMalformed) || !reflect.DeepEqual(v, formation.Verdict{}) {
				t.Fatalf("got %+v and %v", v, err)
			}
			return
		}
		accepted++
		apply(t, b, v)
	})
	if accepted == 0 {
		t.Error("no answer was accepted; the generator shows nothing")
	}
}

// drawCore makes a core operation that is right more often than not.
func drawCore(t *rapid.T) string {
	body := filled(rapid.SampledFrom([]int{5, 5, 700, 5200}).Draw(t, "body"))
	return encode(t, rapid.SampledFrom([]object{
		none(), none(), core("APPEND", "content", body), core("APPEND", "content", body), core("REWRITE", "content", body),
		core("REPLACE", "old_text", "éé", "new_text", body), core("REPLACE", "old_text", "é"), core("APPEND"),
	}).Draw(t, "core"))
}

// drawOperations makes operations of a role that are right often enough to be accepted now and then.
func drawOperations(t *rapid.T, role model.Role) string {
	aliases := rapid.SampledFrom([]string{"m1", "m2", "m1", "m2", "m1", "m2", "m3", "m9"})
	list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) object {
		action := rapid.SampledFrom([]string{"ADD", "ADD", "UPDATE", "MERGE", "SKIP"}).Draw(t, "action")
		if action == "MERGE" && role != model.RoleEpisodic || action == "SKIP" && role != model.RoleSemantic {
			action = "ADD"
		}
		op := operation(role, "action", action, "sources",
			rapid.SliceOfN(rapid.SampledFrom([]string{"t1", "t2"}), 1, 2).Draw(t, "sources"))
		switch action {
		case "UPDATE":
			op["targets"], op["why"] = []string{aliases.Draw(t, "target")}, "more"
		case "MERGE":
			op["targets"], op["until"] = []string{"m1", "m2"}, "2024-06-01"
		case "SKIP":
			op["why"], op["content"] = "common", ""
		}
		return op
	}), 0, 3).Draw(t, string(role))
	return encode(t, operations(list...))
}

func encode(t *rapid.T, v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return string(out)
}
