package llmtest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/shared/model/llm"
)

// Answer returns the fake model's answer to a chat.
func Answer(c Call) string { return fakeAnswer(c) }

// fakeAnswer returns the answer to a chat from the data block, by role. It has no language model. It keeps
// statements of speakers, and finds texts that share words with the question.
func fakeAnswer(c Call) string {
	data := c.Data()
	switch c.Role {
	case llm.RoleFilter:
		return think(data, filter)
	case llm.RoleExtractor:
		return think(data, extract)
	case llm.RoleManager:
		return think(data, decide)
	case llm.RoleFacts:
		return think(data, facts)
	case llm.RoleFactManager:
		return think(data, manageFacts)
	case llm.RoleAgent:
		return act(data)
	case llm.RoleCore, llm.RoleEpisodic, llm.RoleSemantic, llm.RoleProcedural:
		return build(c.Role, data)
	case llm.RoleTopics:
		return think(data, topics)
	case llm.RoleTopicManager:
		return think(data, mergeTopics)
	case llm.RoleUtilizer:
		return think(data, profile)
	case llm.RoleGenerator:
		var in conversation
		if json.Unmarshal(data, &in) != nil {
			return "I see no data. [NO_CITE]"
		}
		return generate(in)
	}
	return "ok"
}

// conversation has the fields of every role's data.
type conversation struct {
	Turns []struct {
		ID, Speaker, Text string
	}
	Candidates []struct {
		ID, Content string
		Related     []string
	}
	Memories []struct {
		ID, Kind, Content string
		N                 int
	}
	Recent []struct {
		Speaker, Text string
	}
	Question string
	Profile  []struct {
		Section string
		Lines   []string
	}
}

func think(data []byte, f func(conversation) any) string {
	var in conversation
	if err := json.Unmarshal(data, &in); err != nil {
		return "I see no data."
	}
	out, err := json.Marshal(f(in))
	if err != nil {
		return "I cannot write that down."
	}
	return string(out)
}

// filter marks a turn as salient if it has four words or more and is not a question.
func filter(in conversation) any {
	scores := []any{}
	for _, t := range in.Turns {
		score := 0.9
		if len(words(t.Text)) < 4 || strings.HasSuffix(strings.TrimSpace(t.Text), "?") {
			score = 0.05
		}
		scores = append(scores, map[string]any{"id": t.ID, "score": score})
	}
	return map[string]any{"turns": scores}
}

// extract keeps each turn as it is.
func extract(in conversation) any {
	memories := []any{}
	for _, t := range in.Turns {
		if strings.TrimSpace(t.Text) == "" {
			continue
		}
		store := "facts"
		if kindOf(t.Text) == "preference" {
			store = "preferences"
		}
		memories = append(memories, map[string]any{
			"store": store, "sources": []string{t.ID}, "kind": kindOf(t.Text), "content": t.Speaker + " said: " + t.Text,
			"topic": "", "slot": "", "keywords": []string{}, "negates": false,
			"event_date": "", "event_precision": "none", "event_words": "",
		})
	}
	return map[string]any{"nothing": len(memories) == 0, "memories": memories}
}

func kindOf(text string) string {
	for _, w := range words(text) {
		if slices.Contains([]string{"like", "likes", "love", "loves", "prefer", "prefers", "favourite", "favorite", "hate"},
			w) {
			return "preference"
		}
	}
	return "fact"
}

// decide adds each text that is not stored word for word.
func decide(in conversation) any {
	contents := map[string]string{}
	for _, m := range in.Memories {
		contents[m.ID] = m.Content
	}
	first := map[string]string{} // content -> the candidate of this call that adds it
	operations := []any{}
	for _, c := range in.Candidates {
		op := map[string]any{"candidate": c.ID, "relation": "new", "op": "ADD", "targets": []string{}, "content": ""}
		known := slices.IndexFunc(c.Related, func(id string) bool { return contents[id] == c.Content })
		switch {
		case known >= 0:
			op["relation"], op["op"], op["targets"] = "same", "NONE", []string{c.Related[known]}
		case first[c.Content] != "":
			op["relation"], op["op"], op["targets"] = "same", "NONE", []string{first[c.Content]}
		case goesOn(c.Content) && len(c.Related) > 0:
			op["relation"], op["op"], op["targets"] = "refines", "UPDATE", c.Related[:1]
			op["content"] = contents[c.Related[0]] + " " + c.Content
		default:
			first[c.Content] = c.ID
		}
		operations = append(operations, op)
	}
	return map[string]any{"operations": operations, "retire": []string{}}
}

// goesOn reports whether a text continues a known memory. The fake model then updates the first memory in its
// prompt.
func goesOn(text string) bool { return strings.Contains(text, "On second thought") }

// profile lists the memories by kind, then working memory.
func profile(in conversation) any {
	lines := map[string][]any{}
	for _, m := range in.Memories {
		section := "facts"
		if m.Kind == "preference" {
			section = "preferences"
		}
		lines[section] = append(lines[section], map[string]any{"text": m.Content, "cites": []int{m.N}})
	}
	for _, t := range in.Recent {
		lines["recent"] = append(lines["recent"], map[string]any{"text": t.Speaker + " said: " + t.Text, "cites": []int{}})
	}
	sections := []any{}
	for _, name := range []string{"preferences", "facts", "recent"} {
		if lines[name] != nil {
			sections = append(sections, map[string]any{"name": name, "lines": lines[name]})
		}
	}
	return map[string]any{"nothing": len(sections) == 0, "sections": sections}
}

// empty are words that say nothing about the subject of a question.
var empty = [...]string{"the", "and", "did", "for", "you", "how", "was", "what", "which", "when", "where", "who", "are",
	"does", "has", "had", "with", "said"}

// generate repeats the cited line that shares most words with the question.
func generate(in conversation) string {
	asked := words(in.Question)
	best, most := "", 0
	for _, s := range in.Profile {
		for _, line := range s.Lines {
			n := 0
			for _, w := range words(line) {
				if len(w) > 2 && !slices.Contains(empty[:], w) && slices.Contains(asked, w) {
					n++
				}
			}
			if n > most && cites(line) {
				best, most = line, n
			}
		}
	}
	if best == "" {
		return "I do not know that. [NO_CITE]"
	}
	return best
}

func cites(line string) bool {
	open := strings.LastIndexByte(line, '[')
	if open < 0 || !strings.HasSuffix(line, "]") {
		return false
	}
	_, err := strconv.Atoi(line[open+1 : len(line)-1])
	return err == nil
}
