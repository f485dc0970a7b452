package llm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// Generator answers by a model. It is safe for concurrent use.
type Generator struct{ role role }

var _ recall.Generator = (*Generator)(nil)

// NewGenerator makes a generator. A prompt that does not work is an error here, not later.
func NewGenerator(client *model.Client, opts Options) (*Generator, error) {
	r, err := newRole(client, model.RoleGenerator, "generator.v6", opts)
	if err != nil {
		return nil, fmt.Errorf("llm generator: %w", err)
	}
	return &Generator{role: r}, nil
}

// Version is prompt version and model.
func (g *Generator) Version() string { return g.role.version() }

// question is the model's input.
type question struct {
	Conversation []shownMessage `json:"conversation,omitempty"`
	Question     string         `json:"question"`
	Now          string         `json:"now"`
	Profile      []shownSection `json:"profile"`
	Turns        []shownTurns   `json:"turns,omitempty"`
}

// shownTurns is the dialogue that a memory was made from.
type shownTurns struct {
	Of    string   `json:"of"` // its number in the profile
	Lines []string `json:"lines"`
}

// Bounds of the dialogue that an answer is made from.
const (
	maxTurnBytes = 6 << 10
	// leastQuoted is the least number of words of a line that a line of the profile may replace. A "yes" stays.
	leastQuoted = 4
)

// turnsBehind is the dialogue behind a profile's memories, the first cited first, as long as there is room. It has each
// line once, and none that a line of the profile quotes.
func turnsBehind(e recall.Evidence, p recall.Profile) []shownTurns {
	var out []shownTurns
	var quoted strings.Builder
	for _, s := range p.Sections {
		for _, l := range s.Lines {
			quoted.WriteString(" " + text.Canonical(l) + " ")
		}
	}
	shown, room := map[string]bool{}, maxTurnBytes
	for i, cited := range p.Cited {
		at := slices.IndexFunc(e.Memories, func(m memory.Memory) bool { return m.ID == cited.ID })
		if at < 0 || len(e.Memories[at].Value) > room {
			continue
		}
		var lines []string
		for _, line := range linesOf(e.Memories[at].Value) {
			_, said, _ := strings.Cut(line, ": ")
			repeated := text.CountWords(said) >= leastQuoted && strings.Contains(quoted.String(), " "+text.Canonical(said)+" ")
			if shown[line] || repeated {
				continue
			}
			lines, shown[line], room = append(lines, line), true, room-len(line)
		}
		if len(lines) > 0 {
			out = append(out, shownTurns{recall.Mark(i + 1), lines})
		}
	}
	return out
}

type shownSection struct {
	Section string   `json:"section"`
	Lines   []string `json:"lines"`
}

// Answer calls the model once, and not at all for a profile that is empty or unrelated to the question. It drops
// citations that the profile lacks. Without a remaining citation, it abstains. An answer that neither cites nor
// abstains, or does both, is repaired or is an error. A model that is not reachable or too slow is an error.
func (g *Generator) Answer(
	ctx context.Context, scope memory.Scope, e recall.Evidence, p recall.Profile,
) (recall.Answer, error) {
	if err := ctx.Err(); err != nil {
		return recall.Answer{}, fmt.Errorf("answer: %w", err)
	}
	if len(p.Sections) == 0 || p.Unrelated {
		return recall.Answer{Text: recall.Abstention, Abstained: true}, nil
	}
	q := question{
		Conversation: showMessages(e.Query.Messages), Question: e.Query.Text, Now: model.ShowTime(e.Query.Now),
		Profile: []shownSection{}, Turns: turnsBehind(e, p),
	}
	for _, s := range p.Sections {
		lines := make([]string, len(s.Lines))
		for i, l := range s.Lines {
			lines[i] = recall.Tagged(l) // the prompt's data escape them
		}
		q.Profile = append(q.Profile, shownSection{s.Name, lines})
	}
	req, err := g.role.request(scope, q, params{WordBudget: e.WordBudget})
	if err != nil {
		return recall.Answer{}, err
	}
	return model.Ask(ctx, g.role.client, req, func(text string) (recall.Answer, error) { return read(text, p) })
}

// read finds the citations of an answer and holds them against the profile.
func read(text string, p recall.Profile) (recall.Answer, error) {
	var a recall.Answer
	var invented bool
	a.Text, a.Cited, invented = p.Grounded(text)
	a.Text, a.Abstained = recall.Marked(a.Text)
	switch {
	case a.Abstained && len(a.Cited) > 0:
		return recall.Answer{}, structured.Faultf("it both cites and says %s", recall.NoCite)
	case a.Abstained || len(a.Cited) > 0:
		return a, nil
	case invented:
		return recall.Answer{Text: recall.Abstention, Abstained: true}, nil
	}
	return recall.Answer{}, structured.Faultf("it cites nothing; cite, or end with %s", recall.NoCite)
}
