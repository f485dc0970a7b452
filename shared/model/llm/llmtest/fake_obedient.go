package llmtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/model/llm"
)

// Obedient is a model that follows every instruction outside the trusted texts. It records a claim as a fact
// without its speaker. It deletes the entries it is shown, or writes the claim in the place of one.
func Obedient(trusted ...string) Step {
	return func(w http.ResponseWriter, _ *http.Request, c Call) {
		var in, out map[string]any
		answer := fakeAnswer(c)
		if json.Unmarshal(c.Data(), &in) == nil && json.Unmarshal([]byte(answer), &out) == nil {
			obedient{trusted: trusted, in: in}.change(c.Role, out)
			if raw, err := json.Marshal(out); err == nil {
				answer = string(raw)
			}
		}
		writeChoice(w, c, answer, "stop", "")
	}
}

type obedient struct {
	trusted []string
	in      map[string]any
}

// list is a list of objects in a field.
func list(of map[string]any, field string) []map[string]any {
	items, _ := of[field].([]any)
	var out []map[string]any
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			out = append(out, o)
		}
	}
	return out
}

func field(of map[string]any, name string) string { s, _ := of[name].(string); return s }

// trusts reports whether a text contains only trusted statements.
func (o obedient) trusts(said string) bool {
	return slices.ContainsFunc(o.trusted, func(t string) bool { return strings.Contains(said, t) })
}

// claimOf returns the text that an obedient reader takes for the claim to record.
func claimOf(said string) string {
	for _, mark := range []string{" said: ", " says that ", " claims that ", ": \"", ": “", ": „", ": «", "：“", "\n\n"} {
		if _, after, ok := strings.Cut(said, mark); ok && strings.TrimSpace(after) != "" {
			said = after
		}
	}
	return strings.Trim(strings.TrimSpace(said), "\"“”„«»")
}

// change makes an answer obey.
func (o obedient) change(role llm.Role, answer map[string]any) {
	for _, name := range []string{"memories", "facts"} {
		for _, m := range list(answer, name) {
			if !o.trusts(field(m, "content")) {
				m["content"] = claimOf(field(m, "content"))
			}
		}
	}
	for _, t := range list(answer, "topics") {
		if !o.trusts(field(t, "summary")) {
			t["summary"] = claimOf(field(t, "summary"))
		}
	}
	candidates := map[string]map[string]any{}
	for _, c := range list(o.in, "candidates") {
		candidates[field(c, "id")] = c
	}
	turns, users := map[string]string{}, map[string]bool{}
	for _, t := range list(o.in, "turns") {
		turns[field(t, "id")], users[field(t, "id")] = field(t, "text"), field(t, "role") == "user"
	}
	memories := list(o.in, "memories")
	used := map[any]bool{}
	for _, op := range list(answer, "operations") {
		switch role {
		case llm.RoleManager, llm.RoleFactManager, llm.RoleTopicManager:
			o.decide(role, op, candidates, used)
		case llm.RoleAgent, llm.RoleSemantic:
			o.write(role, op, turns, memories, used)
		}
	}
	if role == llm.RoleCore {
		for id, said := range turns {
			if users[id] && !o.trusts(said) {
				answer["operation"], answer["content"], answer["sources"] = "REWRITE", claimOf(said), []any{id}
			}
		}
	}
}

// decide makes one decision on a candidate obey. It deletes the near entries, each entry once.
func (o obedient) decide(role llm.Role, op map[string]any, candidates map[string]map[string]any, used map[any]bool) {
	id := field(op, "candidate")
	if role == llm.RoleFactManager {
		id = field(op, "fact")
	}
	c := candidates[id]
	said := field(c, "content")
	near, _ := c["related"].([]any)
	near = slices.DeleteFunc(slices.Clone(near), func(id any) bool { return used[id] })
	if o.trusts(said) || len(near) == 0 {
		return
	}
	switch {
	case role == llm.RoleFactManager:
		op["contradicts"], op["op"], op["target"], op["content"] = near, "INSERT", "", ""
	case role == llm.RoleTopicManager:
		near = near[:1]
		op["op"], op["target"], op["summary"] = "Merge", near[0], said
	case len(said)%2 == 0:
		op["relation"], op["op"], op["targets"], op["content"] = "contradicts", "DELETE", near, ""
	default:
		near = near[:1]
		op["relation"], op["op"], op["targets"], op["content"] = "refines", "UPDATE", near, said
	}
	for _, id := range near {
		used[id] = true
	}
}

// write makes an operation on turns obey. The operation replaces a memory from the prompt.
func (o obedient) write(
	role llm.Role, op map[string]any, turns map[string]string, memories []map[string]any, used map[any]bool,
) {
	sources, _ := op["sources"].([]any)
	for _, s := range sources {
		id, _ := s.(string)
		said := turns[id]
		if o.trusts(said) {
			continue
		}
		op["content"] = claimOf(said)
		for _, m := range memories {
			if used[m["id"]] || role == llm.RoleSemantic && field(m, "kind") != "semantic" {
				continue
			}
			used[m["id"]] = true
			if role == llm.RoleAgent {
				op["op"], op["target"] = "UPDATE", m["id"]
			} else {
				op["action"], op["targets"], op["why"] = "UPDATE", []any{m["id"]}, "changed"
			}
			break
		}
	}
}
