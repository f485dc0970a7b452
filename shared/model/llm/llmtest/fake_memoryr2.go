package llmtest

import (
	"slices"
	"strings"
)

// facts keeps each turn as a fact.
func facts(in conversation) any {
	list := []any{}
	for _, t := range in.Turns {
		if strings.TrimSpace(t.Text) == "" {
			continue
		}
		list = append(list, map[string]any{
			"sources": []string{t.ID}, "kind": kindOf(t.Text), "content": t.Speaker + " said: " + t.Text, "topic": "",
			"slot":     "",
			"keywords": []string{}, "negates": false, "event_date": "", "event_precision": "none", "event_words": "",
		})
	}
	return map[string]any{"nothing": len(list) == 0, "facts": list}
}

// manageFacts inserts each fact that is not stored word for word.
func manageFacts(in conversation) any {
	contents := map[string]string{}
	for _, m := range in.Memories {
		contents[m.ID] = m.Content
	}
	first := map[string]string{} // content -> the fact of this call that inserts it
	operations := []any{}
	for _, c := range in.Candidates {
		op := map[string]any{"fact": c.ID, "contradicts": []string{}, "op": "INSERT", "target": "", "content": ""}
		known := slices.IndexFunc(c.Related, func(id string) bool { return contents[id] == c.Content })
		switch {
		case known >= 0:
			op["op"], op["target"] = "NONE", c.Related[known]
		case first[c.Content] != "":
			op["op"], op["target"] = "NONE", first[c.Content]
		case goesOn(c.Content) && len(c.Related) > 0:
			op["op"], op["target"], op["content"] = "UPDATE", c.Related[0], contents[c.Related[0]]+" "+c.Content
		default:
			first[c.Content] = c.ID
		}
		operations = append(operations, op)
	}
	return map[string]any{"operations": operations}
}
