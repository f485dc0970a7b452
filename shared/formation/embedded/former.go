// Package embedded has the parts of the strategies' embedded policies, which need no model server. A memory is a
// quotation of the speaker's words, with one fact each. It names the speaker and the time, and has just enough context
// to be clear alone. A learned relation model decides the effect of a statement on the known entries. The package is
// deterministic and keeps no state. The text of a turn is only data: instructions in it have no effect.
package embedded

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/reader"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/formation/relation/crossencoder"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

// Judge returns the effect of a statement on each of the stored ones; crossencoder.Session is one implementation.
type Judge interface {
	// Judge returns a relation for each of stored, in order.
	Judge(later relation.Statement, stored []relation.Statement) []relation.Relation
	// Between returns the effect of a statement on one stored statement. It reads the pair even where the statement
	// hardly looks like a change.
	Between(later, stored relation.Statement) relation.Relation
	// Gone returns the probability that each part of a stored statement no longer holds. It assumes that the later
	// statement changes at least one part.
	Gone(later relation.Statement, parts []string) []float64
}

// Former forms memories that quote. It is safe for concurrent use and keeps no state.
type Former struct {
	identity Identity
	splitter *text.Splitter
	topics   *topics
	// judge returns what judges one session.
	judge func() Judge
	// worth returns the value of a turn for memory, 0 to 1.
	worth func(memory.Turn) float64
	// read marks the words of a turn that are part of a note. Without it, every quotation is a memory.
	read func(before, turn string) []reader.Word
	// closes is the least probability of a change that closes an entry. links is the least probability that links it
	// as uncertain.
	closes, links float64
	// choose decides where there is a choice.
	choose decision.Chooser
}

// Deciding returns the former with another chooser. The chooser's version follows the former's version.
func (f *Former) Deciding(choose decision.Chooser, version string) *Former {
	other := *f
	other.choose, other.identity.PolicyVersion = choose, f.identity.PolicyVersion+"@"+version
	return &other
}

// Chooser decides for the former.
func (f *Former) Chooser() decision.Chooser { return f.choose }

var _ formation.Former = (*Former)(nil)

// NewFormer returns the former with the relation models of the program. The models take some milliseconds to load. The
// first comparison of a message takes a tenth of a second more.
func NewFormer(id Identity) *Former {
	judge := crossencoder.ShippedJudge()
	t := judge.Thresholds()
	f := newFormer(id, func() Judge { return judge.Session() }, t.Certain, t.Possible)
	f.read = reader.Shipped().Read
	return f
}

// NewFormerWith returns a former with another judge and without a reader, for training and measurement: every quotation
// is a memory. It closes an entry from the probability closes on, and links it from links on.
func NewFormerWith(id Identity, judge Judge, closes, links float64) *Former {
	return newFormer(id, func() Judge { return judge }, closes, links)
}

func newFormer(id Identity, judge func() Judge, closes, links float64) *Former {
	return &Former{
		identity: id, splitter: text.NewSplitter(), topics: newTopics(wordvector.Shipped()), judge: judge,
		closes: closes, links: links, worth: saliency.NewTrained().Worth, choose: decision.Rules{},
	}
}

// Version is name and version of strategy and policy.
func (f *Former) Version() string { return f.identity.PolicyVersion }

// WorthAlone reports whether a person's statement is worth a separate memory.
func (f *Former) WorthAlone(c formation.Candidate) bool {
	return f.worth(memory.Turn{Role: memory.RoleUser, Speaker: c.Speaker, Text: c.Content}) >= leastWorth
}

// Extract quotes the people of the session, one fact a candidate, in the order of the turns. An assistant's replies are
// talk, separate from the user's memory. Their text joins a memory where the user takes it up.
func (f *Former) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	var out []formation.Candidate
	lists := listsBefore(in)
	for i := range in.Turns {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("extract memories: %w", err)
		}
		turn := in.Turns[i]
		switch {
		case turn.Role != memory.RoleAssistant:
			out = append(out, f.quote(turn, earlier(in, i), lists[i])...)
		case f.read != nil:
			out = append(out, f.quoteReply(turn)...)
		default: // a former without a reader has no talk
			if said := saliency.Commitment(turn); said != "" {
				out = append(out, f.candidate(quotation{said: text.Printable(said), sources: []string{turn.ID}}, turn))
			}
		}
	}
	f.lookUp(out)
	return out, nil
}

// lookUpOdds are the log-odds of a search without a policy, and the odds against a shared search. By default every
// statement has a separate search.
const lookUpOdds = 3

// lookUp decides which candidates to compare with the bank, and which of them need a separate search. The first
// candidate always does, since no earlier search exists. A part of a reply shares the searches.
func (f *Former) lookUp(candidates []formation.Candidate) {
	has := map[bool]float64{true: 1}
	first := true
	for i, c := range candidates {
		if c.Neighbours == formation.SharedNeighbours && !first {
			continue
		}
		candidates[i].Neighbours = 0
		features := func() []float64 {
			worth := f.worth(memory.Turn{Role: memory.RoleUser, Speaker: c.Speaker, Text: c.Content})
			return []float64{
				1, decision.Odds(worth) / 5, lengthOf(text.CountWords(c.Content)), has[c.Kind == memory.KindEpisodic],
				has[strings.ContainsFunc(c.Content, unicode.IsDigit)], has[c.Slot != ""],
			}
		}
		switch {
		case !decision.Either(f.choose, decision.Lookup, lookUpOdds, features):
			candidates[i].Neighbours = formation.NoNeighbours
		case !first && decision.Either(f.choose, decision.Share, -lookUpOdds, features):
			candidates[i].Neighbours = formation.SharedNeighbours
		default:
			first = false
		}
	}
}

// lengthOf is the feature that a number of words is.
func lengthOf(words int) float64 { return math.Log1p(float64(words)) / 5 }

// before is the turn before another.
type before struct {
	memory.Turn
	// formed reports whether the turn may be a source. A turn that a gate dropped is only context.
	formed bool
}

// isOfAnother reports whether there is a turn before, by somebody else.
func (b *before) isOfAnother(turn memory.Turn) bool {
	return b != nil && (b.Speaker != turn.Speaker || b.Role != turn.Role)
}

// addTo puts the turn to the sources of what leans on it.
func (b before) addTo(sources []string) []string {
	if !b.formed {
		return sources
	}
	return append(sources, b.ID)
}

// RulesVersion is stored with the entries of the policy.
const RulesVersion = "embedded/8"

// Identity marks the entries of a strategy.
type Identity struct {
	// Strategy is the strategy's name.
	Strategy string
	// PolicyVersion is name and version of strategy and policy.
	PolicyVersion string
}

// IdentityOf is the identity of a strategy under the embedded policy.
func IdentityOf(strategy string) Identity {
	return Identity{Strategy: strategy, PolicyVersion: strategy + "-" + RulesVersion}
}
