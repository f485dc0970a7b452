package llmtest

import (
	"slices"
	"strings"
)

// topics makes a topic of each turn.
func topics(in conversation) any {
	list := []any{}
	for _, t := range in.Turns {
		if strings.TrimSpace(t.Text) == "" {
			continue
		}
		list = append(list, map[string]any{
			"speaker": t.Speaker, "turns": []string{t.ID}, "summary": t.Speaker + " said: " + t.Text, "label": "",
			"kind": kindOf(t.Text), "event_date": "", "event_precision": "none", "event_words": "",
		})
	}
	return map[string]any{"nothing": len(list) == 0, "topics": list}
}

// mergeTopics adds each topic that is not stored word for word. It merges the rest without a change.
func mergeTopics(in conversation) any {
	contents := map[string]string{}
	for _, m := range in.Memories {
		contents[m.ID] = m.Content
	}
	operations := []any{}
	first := map[string]string{} // content -> the candidate of this call that adds it
	for _, c := range in.Candidates {
		op := map[string]any{"candidate": c.ID, "op": "Add", "target": "", "summary": ""}
		target := first[c.Content]
		if known := slices.IndexFunc(c.Related, func(id string) bool { return contents[id] == c.Content }); known >= 0 {
			target = c.Related[known]
		}
		switch {
		case target != "":
			op["op"], op["target"], op["summary"] = "Merge", target, c.Content
		case goesOn(c.Content) && len(c.Related) > 0:
			op["op"], op["target"], op["summary"] = "Merge", c.Related[0], contents[c.Related[0]]+" "+c.Content
		default:
			first[c.Content] = c.ID
		}
		operations = append(operations, op)
	}
	return map[string]any{"operations": operations}
}
