// Package saliency is the attentional gate of the embedded policy: a small network over words and their vectors that
// scores a turn's value for memory. Its training data are labelled and synthetic dialogues.
//
// A score depends on the turn alone: its text, caption, role, and the speaker's name. Batches do not change it, and
// calls share no state. A short answer passes with its question. The text of a turn is only data: instructions in it
// have no effect.
package saliency

import (
	"context"
	_ "embed" // the model is part of the program
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/forget"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/classifier"
	"github.com/mneme-memory/mneme/shared/text"
)

// Filter decides by a model. It is safe for concurrent use.
type Filter struct {
	version   string
	threshold float64
	network   *Network
	index     Index
	table     table
	passes    sync.Pool
}

var _ formation.Filter = (*Filter)(nil)

// NewFilter returns a filter that decides by a model. The error for a model that cannot decide is a
// classifier.ErrModel.
func NewFilter(m *Model) (*Filter, error) {
	n, err := m.network()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", classifier.ErrModel, err)
	}
	return &Filter{
		version: m.Version, threshold: m.Threshold, network: n, index: n.Index(), table: n.table(),
		passes: sync.Pool{New: func() any { return new(Pass) }},
	}, nil
}

// Parse reads the file of a model. The error for any other file is a classifier.ErrModel.
func Parse(data []byte) (*Filter, error) {
	m, err := classifier.Parse[Model](data)
	if err != nil {
		return nil, err
	}
	return NewFilter(m)
}

// NewTrained returns the filter with the model that is compiled into the binary. It is made once: the table of what
// vectors add takes some milliseconds.
var NewTrained = classifier.Shipped("saliency", trained, Parse)

// Version is the name and version of the model.
func (f *Filter) Version() string { return f.version }

// Threshold is the score from which a text is positive, 0 to 1.
func (f *Filter) Threshold() float64 { return f.threshold }

// Filter scores every turn by itself. Some turns score the threshold at least. They are an assistant's reply with
// substance or a commitment, a request to forget something, and the answer to a question. So is a bare answer ("yes")
// whose question is in no given turn.
func (f *Filter) Filter(
	ctx context.Context, _ memory.Scope, turns, before []memory.Turn,
) ([]memory.SaliencyDecision, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("filter turns: %w", err)
	}
	decisions := make([]memory.SaliencyDecision, len(turns))
	for i := range turns {
		score := f.Score(turns[i])
		if t := turns[i]; score < f.threshold &&
			(HasSubstance(t) || Commitment(t) != "" || asksToForget(t) || isAnswer(t, turns[:i], before)) {
			score = f.threshold
		}
		decisions[i] = memory.SaliencyDecision{
			Salient: score >= f.threshold, Score: score, Threshold: f.threshold, PolicyVersion: f.version,
		}
	}
	return decisions, nil
}

// leastReply is the number of content words of a reply with substance, outside its questions.
const leastReply = 8

// HasSubstance reports whether somebody may look for an assistant's turn again. Short praise, greetings and questions
// have no substance.
func HasSubstance(t memory.Turn) bool {
	if t.Role != memory.RoleAssistant {
		return false
	}
	n := 0
	for _, s := range splitter().Split(text.Printable(t.Text)) {
		if s = strings.TrimRight(s, " \"'”)*_"); !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, "？") {
			n += len(text.SearchTerms(s))
		}
		if n >= leastReply {
			return true
		}
	}
	return false
}

// isAnswer reports whether a person's turn answers the last turn of another voice in its session.
func isAnswer(t memory.Turn, batch, before []memory.Turn) bool {
	if t.Role == memory.RoleAssistant {
		return false
	}
	for _, turns := range [][]memory.Turn{batch, before} {
		for _, b := range slices.Backward(turns) {
			if b.SessionID == t.SessionID && (b.Role != t.Role || b.Speaker != t.Speaker) {
				question := text.Question(splitter().Split(text.Printable(b.Text)))
				return question != "" && text.NeedsQuestion(question, t.Text)
			}
		}
	}
	return text.IsBareAnswer(t.Text)
}

// asksToForget reports whether a user asks to forget something. The former must see such a turn.
func asksToForget(t memory.Turn) bool {
	_, requests := forget.Read(t)
	return len(requests) > 0
}

// Score returns the value of a turn for memory, 0 to 1. A user's turn in words that the model cannot read scores at
// least the threshold. A filter may drop only text that it can read.
func (f *Filter) Score(t memory.Turn) float64 {
	score, unread := f.score(t)
	if unread {
		score = max(score, f.threshold)
	}
	return score
}

// Worth returns the score of text that the model can read. It returns 1 for a user's words that the model cannot read,
// since no evidence counts against them.
func (f *Filter) Worth(t memory.Turn) float64 {
	score, unread := f.score(t)
	if unread {
		return 1
	}
	return score
}

// Read returns the score of text that the model can read. ok is false for a user's words that it cannot read.
func (f *Filter) Read(t memory.Turn) (score float64, ok bool) {
	score, unread := f.score(t)
	return score, !unread
}

func (f *Filter) score(t memory.Turn) (score float64, unread bool) {
	r := Read(t)
	if len(r.Clauses) == 0 {
		return 0, false // no words: an emoticon at most
	}
	p, _ := f.passes.Get().(*Pass)
	f.network.run(p, &r, f.index.Places(&r), f.table)
	score = logistic(float64(p.Logit))
	f.passes.Put(p)
	return score, r.foreign() && t.Role != memory.RoleAssistant
}

// Deciding returns a filter whose chooser decides on each turn. The chooser's version follows the filter's version in
// the stored decisions. The threshold's odds are compared with the turn's score.
func (f *Filter) Deciding(choose decision.Chooser, version string) formation.Filter {
	return &deciding{f, choose, f.version + "@" + version}
}

type deciding struct {
	scores  *Filter
	choose  decision.Chooser
	version string
}

// Filter implements formation.Filter.
func (d *deciding) Filter(
	ctx context.Context, scope memory.Scope, turns, before []memory.Turn,
) ([]memory.SaliencyDecision, error) {
	out, err := d.scores.Filter(ctx, scope, turns, before)
	for i := range out {
		above := decision.Above(out[i].Score, out[i].Threshold)
		out[i].Salient = decision.Either(d.choose, decision.Filter, above, func() []float64 {
			return describe(turns[i], out[i].Score)
		})
		out[i].PolicyVersion = d.version
	}
	return out, err
}

// describe returns the features that decision.Features names.
func describe(t memory.Turn, score float64) []float64 {
	has := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	words := len(strings.Fields(t.Text))
	return []float64{
		1, decision.Odds(score) / 5, math.Log1p(float64(words)) / 5, has(strings.Contains(t.Text, "?")),
		has(t.Role == memory.RoleAssistant), has(strings.ContainsFunc(t.Text, unicode.IsDigit)),
	}
}

// Model is the file form of a trained filter: a network with its weights as bytes, and the threshold.
type Model struct {
	// The version is kept with every decision.
	classifier.Header
	// Threshold is the score from which a turn is salient, 0 to 1.
	Threshold float64 `json:"threshold"`
	// Words are the words of the network, separated by blanks.
	Words string `json:"words"`
	// Scales have the value of a weight of 1 for each part of the network. Weights are all parts, a signed byte a
	// weight.
	Scales  []float32 `json:"scales"`
	Weights []byte    `json:"weights"`
}

//go:embed model.json
var trained []byte

// Check reports why the model cannot decide.
func (m *Model) Check() error {
	if m.Version == "" || !(m.Threshold > 0 && m.Threshold < 1) {
		return fmt.Errorf("version %q, threshold %v", m.Version, m.Threshold)
	}
	_, err := m.network()
	return err
}

// SetNetwork puts a network into the model, each weight rounded to one of 255 steps of its part.
func (m *Model) SetNetwork(n *Network) {
	m.Words, m.Scales, m.Weights = strings.Join(n.Words, " "), nil, nil
	for _, part := range n.Parts() {
		scale, weights := classifier.Quantize(part)
		m.Scales, m.Weights = append(m.Scales, scale), append(m.Weights, weights...)
	}
}

// network returns the network of the model.
func (m *Model) network() (*Network, error) {
	words := strings.Split(m.Words, " ")
	if len(words) < 2 || words[0] != wordUnknown || words[edge] != wordEdge {
		return nil, fmt.Errorf("its words do not begin with %s %s", wordUnknown, wordEdge)
	}
	n := newNetwork(words)
	parts, rest := n.Parts(), m.Weights
	if len(m.Scales) != len(parts) {
		return nil, fmt.Errorf("it has %d scales, want %d", len(m.Scales), len(parts))
	}
	for i, part := range parts {
		if scale := m.Scales[i]; len(rest) < len(part) || !(scale >= 0 && scale < 1e3) {
			return nil, fmt.Errorf("part %d has scale %v and %d of %d weights", i, scale, len(rest), len(part))
		}
		for j := range part {
			part[j] = float32(int8(rest[j])) * m.Scales[i] //nolint:gosec // two's complement, as written
		}
		rest = rest[len(part):]
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d weights too many", len(rest))
	}
	return n, nil
}

//go:embed commitment.json
var commitmentModel []byte

// commitments is the network that separates an assistant's commitments from all other sentences.
var commitments = classifier.Shipped("commitments", commitmentModel, Parse)

var splitter = sync.OnceValue(text.NewSplitter)

// Commitment returns the sentence of an assistant's turn that most surely states an action, a note or a promise of the
// assistant. It returns "" without such a sentence, and for others' turns. It does not read code, quoted lines and
// questions.
func Commitment(t memory.Turn) string {
	if t.Role != memory.RoleAssistant {
		return ""
	}
	f := commitments()
	best, most := "", f.threshold
	for _, b := range text.Blocks(t.Text) {
		if b.Kind != text.Prose {
			continue
		}
		for _, s := range splitter().Split(b.Text) {
			if s = strings.TrimLeft(text.OneLine(s), "-*• "); strings.HasSuffix(s, "?") {
				continue
			}
			if score, _ := f.score(memory.Turn{Role: memory.RoleAssistant, Text: s}); score >= most {
				best, most = s, score
			}
		}
	}
	return best
}
