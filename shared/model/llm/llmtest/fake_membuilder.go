package llmtest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/model/llm"
)

// builder has the fields in the data of membuilder's roles.
type builder struct {
	Core struct {
		Text    string
		Percent int `json:"percent_full"`
	}
	Below int
	Turns []struct {
		ID, Time, Speaker, Role, Text string
	}
	Memories []struct {
		ID, Kind, Content string
	}
}

// build answers membuilder's roles. Each role keeps the turns that have one of its words, word for word and once.
func build(role llm.Role, data []byte) string {
	var in builder
	if json.Unmarshal(data, &in) != nil {
		return "I see no data."
	}
	var a any
	switch {
	case role == llm.RoleCore && in.Below > 0:
		a = map[string]any{"content": shorter(in.Core.Text, in.Below)}
	case role == llm.RoleCore:
		a = in.block()
	default:
		a = in.entries(role)
	}
	out, err := json.Marshal(a)
	if err != nil {
		return "I cannot write that down."
	}
	return string(out)
}

// roleWords are the words that assign a turn to a role.
var roleWords = map[llm.Role]string{
	llm.RoleCore:       "live lives work name love like hate called allergic",
	llm.RoleEpisodic:   "yesterday today tomorrow last next week month got moved met",
	llm.RoleProcedural: "every usually when first then",
}

func cued(role llm.Role, text string) bool {
	known := roleWords[role]
	return known == "" && strings.TrimSpace(text) != "" ||
		slices.ContainsFunc(words(text), func(w string) bool { return slices.Contains(strings.Fields(known), w) })
}

// block appends the statements of users that are not in the block. When the block is nearly full it keeps the newer
// half.
func (in builder) block() any {
	out := map[string]any{"operation": "NONE", "content": "", "old_text": "", "new_text": "", "sources": []string{}}
	var lines, sources []string
	for _, t := range in.Turns {
		line := oneLine(t.Speaker + " said: " + t.Text)
		if t.Role != "assistant" && cued(llm.RoleCore, t.Text) && !strings.Contains(in.Core.Text, line) &&
			!slices.Contains(lines, line) {
			lines, sources = append(lines, line), append(sources, t.ID)
		}
	}
	if len(lines) == 0 {
		return out
	}
	out["operation"], out["content"], out["sources"] = "APPEND", strings.Join(lines, "\n"), sources
	if in.Core.Percent >= 90 {
		old := strings.Split(in.Core.Text, "\n")
		out["operation"], out["content"] = "REWRITE", strings.Join(append(old[(len(old)+1)/2:], lines...), "\n")
	}
	return out
}

// shorter drops the oldest lines. It cuts the last line if that line alone is too long.
func shorter(text string, below int) string {
	for len([]rune(text)) >= below {
		_, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return string([]rune(text)[:below-1])
		}
		text = rest
	}
	return text
}

func (in builder) entries(role llm.Role) any {
	operations := []any{}
	seen := map[string]bool{}
	for _, m := range in.Memories {
		seen[m.Content] = true
	}
	for _, t := range in.Turns {
		said := oneLine(t.Speaker + " said: " + t.Text)
		op := map[string]any{"action": "ADD", "sources": []string{t.ID}, "targets": []string{}, "topic": "",
			"keywords": []string{}}
		stored := said
		switch role {
		case llm.RoleEpisodic:
			date := dateOf(t.Time)
			op["date"], op["until"], op["said"], op["summary"], op["details"] = date, "", "", said, ""
			stored = date + ": " + said
		case llm.RoleProcedural:
			op["description"], op["steps"], op["context"] = said, []string{"As said."}, ""
			stored = said + " | Steps: 1. As said."
		default:
			op["why"], op["content"] = "new", said
			if len(in.Memories) > 0 && goesOn(said) && in.Memories[0].Kind == "semantic" {
				op["action"], op["targets"], op["why"] = "UPDATE", []string{in.Memories[0].ID}, "more"
				op["content"] = in.Memories[0].Content + " " + said
			}
		}
		if cued(role, t.Text) && !seen[stored] {
			seen[stored] = true
			operations = append(operations, op)
		}
	}
	return map[string]any{"nothing": len(operations) == 0, "operations": operations}
}

// dateOf finds the date in a time as prompts show it, "Monday 2024-05-06 09:30".
func dateOf(shown string) string {
	for _, f := range strings.Fields(shown) {
		if len(f) == len("2006-01-02") && strings.Count(f, "-") == 2 {
			return f
		}
	}
	return ""
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\x00", " ")), " ")
}
