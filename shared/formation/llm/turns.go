package llm

import (
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// ShownTurn is a turn as prompts show it.
type ShownTurn struct {
	ID      string `json:"id"`
	Time    string `json:"time"`
	Speaker string `json:"speaker"`
	Role    string `json:"role"`
	Text    string `json:"text"`
	Picture string `json:"picture,omitempty"`
}

// ShowTurns names the turns t1, t2, ... in their order.
func ShowTurns(turns []memory.Turn) []ShownTurn { return ShowAs("t", turns) }

// ShowAs names the turns by another sort of alias.
func ShowAs(sort string, turns []memory.Turn) []ShownTurn {
	out := make([]ShownTurn, len(turns))
	for i, t := range turns {
		out[i] = ShownTurn{
			ID: Alias(sort, i), Time: model.ShowTime(t.Time), Speaker: t.Speaker, Role: string(t.Role), Text: t.Text,
			Picture: t.Caption,
		}
	}
	return out
}

// ShownContext is a turn that prompts show for reading only: an answer may not name its alias.
type ShownContext struct {
	ShownTurn
	// Before is the alias of the turn that follows it; empty where none does.
	Before string `json:"before,omitempty"`
}

// ShowContext names the context of turns x1, x2, ... in its order, and says where each belongs.
func ShowContext(context, turns []memory.Turn) []ShownContext {
	out := make([]ShownContext, len(context))
	for i, t := range ShowAs("x", context) {
		out[i].ShownTurn = t
		next := slices.IndexFunc(turns, func(t memory.Turn) bool { return t.Compare(context[i]) > 0 })
		if next >= 0 {
			out[i].Before = Alias("t", next)
		}
	}
	return out
}

// Positions gives the aliases of n turns their positions back, ascending and each once.
func Positions(aliases []string, n int) ([]int, error) {
	if len(aliases) == 0 {
		return nil, structured.Faultf("sources is empty; name the turns it comes from")
	}
	index := turnIndex(n)
	var out []int
	for _, id := range aliases {
		i, ok := index[id]
		if !ok {
			return nil, structured.Faultf("sources names %s, which is not the id of a turn; the ids are t1 to t%d",
				structured.Alias(id), n)
		}
		out = append(out, i)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func turnIndex(n int) map[string]int {
	out := make(map[string]int, n)
	for i := range n {
		out[Alias("t", i)] = i
	}
	return out
}

// WereSaid reports whether one of the turns at the positions has these words: an expression is kept only as a
// quotation.
func WereSaid(words string, turns []memory.Turn, positions []int) bool {
	return words != "" && slices.ContainsFunc(positions, func(i int) bool {
		return strings.Contains(strings.ToLower(turns[i].Text), strings.ToLower(words))
	})
}

// Newest returns the time of the latest source.
func Newest(turns []memory.Turn, sources []string) (at time.Time) {
	for _, t := range turns {
		if slices.Contains(sources, t.ID) && t.Time.After(at) {
			at = t.Time
		}
	}
	return at
}
