package llm

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	model "github.com/mneme-memory/mneme/shared/llm"
	"github.com/mneme-memory/mneme/shared/llm/structured"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
)

// noCite is what an answer ends with when memory does not tell.
const noCite = "[NO_CITE]"

// Generator answers by a model. It is safe for concurrent use.
type Generator struct{ role role }

var _ recall.Generator = (*Generator)(nil)

// NewGenerator makes a generator. A prompt that does not work is an error here, not later.
func NewGenerator(client *model.Client, opts Options) (*Generator, error) {
	r, err := newRole(client, model.RoleGenerator, "generator.v1", opts)
	if err != nil {
		return nil, fmt.Errorf("llm generator: %w", err)
	}
	return &Generator{role: r}, nil
}

// Version is prompt version and model.
func (g *Generator) Version() string { return g.role.version() }

// question is what the model sees.
type question struct {
	Question string         `json:"question"`
	Now      string         `json:"now"`
	Profile  []shownSection `json:"profile"`
}

type shownSection struct {
	Section string   `json:"section"`
	Lines   []string `json:"lines"`
}

// Answer asks once. An answer that neither cites nor abstains, or cites what is not in the profile,
// is repaired or is an error.
func (g *Generator) Answer(ctx context.Context, scope memory.Scope, e recall.Evidence, p recall.Profile) (recall.Answer, error) {
	q := question{Question: e.Query, Now: showTime(e.Now), Profile: []shownSection{}}
	for _, s := range p.Sections {
		q.Profile = append(q.Profile, shownSection{s.Name, s.Lines})
	}
	req, err := g.role.request(scope.Tenant, q, params{WordBudget: e.WordBudget})
	if err != nil {
		return recall.Answer{}, err
	}
	return model.Ask(ctx, g.role.client, req, func(text string) (recall.Answer, error) { return read(text, p.Cited) })
}

var citation = regexp.MustCompile(`\[(\d+)\]`)

// read finds the citations of an answer and holds them against the profile.
func read(text string, cited []memory.Memory) (recall.Answer, error) {
	a := recall.Answer{Text: strings.TrimSpace(text), Abstained: strings.Contains(text, noCite)}
	for _, m := range citation.FindAllStringSubmatch(a.Text, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n < 1 || n > len(cited) {
			return recall.Answer{}, structured.Faultf("it cites a number that the profile does not have; citations are %s", span(len(cited)))
		}
		if id := cited[n-1].ID; !slices.Contains(a.Cited, id) {
			a.Cited = append(a.Cited, id)
		}
	}
	switch {
	case a.Abstained && len(a.Cited) > 0:
		return recall.Answer{}, structured.Faultf("it both cites and says %s", noCite)
	case !a.Abstained && len(a.Cited) == 0:
		return recall.Answer{}, structured.Faultf("it cites nothing; cite, or end with %s", noCite)
	}
	return a, nil
}

func span(n int) string {
	if n == 0 {
		return "not possible here"
	}
	return fmt.Sprintf("[1] to [%d]", n)
}
