// Package decision is the seam between what the embedded policy decides and what decides it. Code that has a choice to make names its
// role, describes the options by features, and gives each the log-odds that the rules and models of the program see for it; a Chooser
// picks one. Without a policy that is the likeliest, so that nothing changes; a trained Policy moves the log-odds; in training a
// Sampler draws by them and notes what it drew.
package decision

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Role names a kind of decision.
type Role string

// The roles.
const (
	// Filter is whether a turn is kept: drop, keep.
	Filter Role = "filter"
	// Apart is whether two neighbouring quotations of a turn are memories of their own: join, apart.
	Apart Role = "apart"
	// Store is whether a statement that nothing but its words keeps in the bank stays in working memory alone: bank, working.
	Store Role = "store"
	// Lookup is whether the bank is searched for what a statement may change: none, own.
	Lookup Role = "lookup"
	// Share is whether a statement that is looked up has no search of its own, but what others of its session found: own, shared.
	Share Role = "share"
	// Target is which of a turn's statements, one option each, changes an entry that several of them may.
	Target Role = "target"
	// Change is what a statement does to an entry: nothing, link, replace.
	Change Role = "change"
	// Join is whether an entry says the same as a statement within it, which is not written then, or as the entry that a statement
	// replaces, which it is replaced with: other, same.
	Join Role = "join"
	// Retract is whether a fact of an entry that is replaced holds no more: stay, go.
	Retract Role = "retract"
	// Rest is whether what is left of an entry then is worth keeping: drop, keep.
	Rest Role = "rest"
	// Profile is whether what was found for a query has a line in the profile: leave, show.
	Profile Role = "profile"
)

// features names what options of a role are described by, in order.
var features = map[Role][]string{
	Filter:  {"keep", "score", "words", "question", "assistant", "number"},
	Apart:   {"apart", "worth", "words"},
	Store:   {"working", "score", "words", "episodic"},
	Lookup:  {"own", "worth", "words", "episodic", "number", "slot"},
	Share:   {"shared", "worth", "words", "episodic", "number", "slot"},
	Target:  {"alone", "similar", "words"},
	Change:  {"link", "link_change", "link_same", "replace", "replace_change", "replace_ends", "replace_similar", "replace_slot"},
	Join:    {"same", "odds", "similar", "within"},
	Retract: {"go", "odds", "likeliest", "change"},
	Rest:    {"keep", "worth", "words"},
	Profile: {"show", "rank", "support", "words", "episodic", "preference"},
}

// Features returns the names of a role's features, in order.
func Features(r Role) []string { return slices.Clone(features[r]) }

// Roles returns the roles there are, in order of name.
func Roles() []Role { return slices.Sorted(maps.Keys(features)) }

// Chooser decides. Implementations are safe for concurrent use where they say so.
type Chooser interface {
	// Choose returns the place of the option that is taken; there is at least one.
	Choose(r Role, options []Option) int
}

// Either has a chooser decide between two options, and returns whether it takes the second: that has the log-odds base and the features,
// which are only asked for where somebody reads them. The first has none.
func Either(choose Chooser, r Role, about string, base float64, features func() []float64) bool {
	if _, plain := choose.(Rules); plain {
		return base > 0
	}
	second := Option{Features: features(), Base: base}
	return choose.Choose(r, []Option{{Features: make([]float64, len(second.Features)), About: about}, second}) == 1
}

// Odds are the log-odds of a probability, within bounds.
func Odds(p float64) float64 {
	p = min(1-1e-6, max(1e-6, p))
	return math.Log(p / (1 - p))
}

// Above are the log-odds of a probability over those of a threshold. One that is the threshold counts as above it.
func Above(p, threshold float64) float64 { return Odds(p) - Odds(threshold) + 1e-9 }

// Rules is the chooser of a program without a policy: the option with the greatest log-odds, the first of several. It is safe for
// concurrent use.
type Rules struct{}

// Choose implements Chooser.
func (Rules) Choose(_ Role, options []Option) int {
	best := 0
	for i, o := range options {
		if o.Base > options[best].Base {
			best = i
		}
	}
	return best
}

// Policy moves log-odds by heads that were trained. A role without a head is decided by Rules. It is safe for concurrent use while nobody
// changes it.
type Policy struct {
	// Version is what tenants name it by, and is kept with the memories that it made: one that tenant.ValidVersion accepts.
	Version string
	Heads   map[Role]Head
}

// Choose implements Chooser.
func (p *Policy) Choose(r Role, options []Option) int {
	h, ok := p.Heads[r]
	if !ok {
		return Rules{}.Choose(r, options)
	}
	return Best(h.LogProbabilities(options))
}

// file is a policy as it is kept. The features' names say which program it is for.
type file struct {
	Format  int               `json:"format"`
	Version string            `json:"version"`
	Roles   map[Role]fileRole `json:"roles"`
}

type fileRole struct {
	Features []string `json:"features"`
	Head     Head     `json:"head"`
}

const format = 1

// Encode returns the policy's file.
func (p *Policy) Encode() ([]byte, error) {
	f := file{Format: format, Version: p.Version, Roles: map[Role]fileRole{}}
	for r, h := range p.Heads {
		f.Roles[r] = fileRole{Features: features[r], Head: h}
	}
	return json.MarshalIndent(f, "", "\t")
}

// Decode reads a policy's file. One of another format, or for other features than this program has, is a terminal error that names what
// is wrong.
func Decode(data []byte) (*Policy, error) {
	var f file
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fault.Terminal("policy", "is no policy file: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fault.Terminal("policy", "has more than one value")
	}
	switch {
	case f.Format != format:
		return nil, fault.Terminal("policy.format", "is %d, want %d", f.Format, format)
	case tenant.ValidVersion(f.Version) != nil:
		return nil, fmt.Errorf("policy.%w", tenant.ValidVersion(f.Version))
	}
	out := &Policy{Version: f.Version, Heads: map[Role]Head{}}
	for _, r := range slices.Sorted(maps.Keys(f.Roles)) {
		role, known := f.Roles[r], features[r]
		if known == nil {
			return nil, fault.Terminal("policy.roles", "has %q, want roles among %q", r, Roles())
		}
		if !slices.Equal(role.Features, known) {
			return nil, fault.Terminal(fmt.Sprintf("policy.roles.%s.features", r), "are %q, want %q", role.Features, known)
		}
		if role.Head.Features != len(known) {
			return nil, fault.Terminal(fmt.Sprintf("policy.roles.%s.head.features", r), "are %d, want %d", role.Head.Features, len(known))
		}
		if err := role.Head.Validate(); err != nil {
			return nil, fault.Terminal(fmt.Sprintf("policy.roles.%s.head", r), "%w", err)
		}
		out.Heads[r] = role.Head
	}
	return out, nil
}

// Sampler draws decisions by a policy's chances and notes them: what a rollout of training is. Decisions of roles that the policy has
// no head for are those of the rules, and are not noted. It is safe for concurrent use, but the draws are the same again only where the
// decisions come in the same order.
type Sampler struct {
	policy *Policy

	mu      sync.Mutex
	random  *rand.Rand
	choices map[Role][]Choice
}

// NewSampler makes a sampler of its own randomness.
func NewSampler(p *Policy, random *rand.Rand) *Sampler {
	return &Sampler{policy: p, random: random, choices: map[Role][]Choice{}}
}

// Choose implements Chooser.
func (s *Sampler) Choose(r Role, options []Option) int {
	h, ok := s.policy.Heads[r]
	if !ok {
		return Rules{}.Choose(r, options)
	}
	p := h.LogProbabilities(options)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := Draw(p, s.random)
	s.choices[r] = append(s.choices[r], Choice{Options: options, Chosen: i, LogProbability: p[i]})
	return i
}

// Taken returns what was drawn since the last time, by role, and forgets it.
func (s *Sampler) Taken() map[Role][]Choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.choices
	s.choices = map[Role][]Choice{}
	return out
}
