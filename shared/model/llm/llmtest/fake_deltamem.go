package llmtest

import (
	"encoding/json"
	"slices"
	"strings"
)

// agentView is the data in the prompt of deltamem's agent.
type agentView struct {
	Turns []struct {
		ID, Speaker, Text string
	}
	Steps    []json.RawMessage
	Memories []struct {
		ID, Content string
	}
	Left   int `json:"searches_left"`
	AtOnce int `json:"queries_at_once"`
}

// searchWords are words of facts that memory may already contain.
const searchWords = `live lives moved work job quit started sister brother dog cat like love likes loves allergic married called name
favourite drink drive play plan longer anymore changed actually bake`

// maxAgentQuery is the maximum length of an agent's query, in bytes.
const maxAgentQuery = 400

// act searches once for the turns that have one of the searchWords. It then adds each turn that is not stored word
// for word.
func act(data []byte) string {
	var in agentView
	if json.Unmarshal(data, &in) != nil {
		return "I see no data."
	}
	a := map[string]any{"thought": "", "action": "finish", "queries": []string{}, "nothing": false, "operations": []any{}}
	if queries := in.queries(); len(in.Steps) == 0 && len(queries) > 0 {
		a["thought"], a["action"], a["queries"] = "Some of this may be known.", "search", queries
	} else {
		operations := in.operations()
		a["nothing"], a["operations"] = len(operations) == 0, operations
	}
	out, err := json.Marshal(a)
	if err != nil {
		return "I cannot write that down."
	}
	return string(out)
}

// queries are the turns to search for. One query holds several turns where there are more turns than queries.
func (in agentView) queries() []string {
	var said []string
	for _, t := range in.Turns {
		cued := slices.ContainsFunc(words(t.Text), func(w string) bool {
			return slices.Contains(strings.Fields(searchWords), w)
		})
		if line := oneLine(t.Text); cued && !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	queries := make([]string, min(len(said), in.AtOnce))
	for i, line := range said {
		if len(queries) > 0 {
			queries[i%len(queries)] += line + " "
		}
	}
	for i, q := range queries {
		queries[i] = strings.TrimSpace(strings.ToValidUTF8(q[:min(len(q), maxAgentQuery)], ""))
	}
	return queries
}

func (in agentView) operations() []any {
	known := map[string]string{}
	for _, m := range in.Memories {
		known[m.Content] = m.ID
	}
	added := map[string]bool{}
	operations := []any{}
	for _, t := range in.Turns {
		if strings.TrimSpace(t.Text) == "" {
			continue
		}
		said := oneLine(t.Speaker + " said: " + t.Text)
		op := map[string]any{
			"op": "ADD", "target": "", "sources": []string{t.ID}, "kind": kindOf(t.Text), "content": said, "topic": "",
			"keywords":   []string{},
			"event_date": "", "event_precision": "none", "event_words": "",
		}
		if id := known[said]; id != "" || added[said] {
			op["op"], op["target"], op["content"] = "NONE", id, ""
		} else if goesOn(said) && len(in.Memories) > 0 {
			op["op"], op["target"], op["content"] = "UPDATE", in.Memories[0].ID, in.Memories[0].Content+" "+said
		}
		added[said] = true
		operations = append(operations, op)
	}
	return operations
}
