// Package decision separates the decisions of the embedded policy from the code that makes them. A caller names its
// role, and describes the options by features. It gives each option its log-odds from the program's rules and
// models. A Chooser picks one option. Without a policy it picks the likeliest option, so the result does not
// change. A trained Policy moves the log-odds. In training a Sampler draws by the log-odds and records each draw.
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
	// Filter decides whether a turn is kept: drop, keep.
	Filter Role = "filter"
	// Apart decides whether two neighbouring quotations of a turn are separate memories: join, apart.
	Apart Role = "apart"
	// Store decides where a statement goes: bank, working (working memory alone). It applies to statements that
	// qualify for the bank by their words only.
	Store Role = "store"
	// Lookup decides whether to search the bank for entries that a statement may change: none, own.
	Lookup Role = "lookup"
	// Share decides whether a statement uses the search results of other statements in its session: own, shared.
	// The other choice is a search for this statement alone.
	Share Role = "share"
	// Target decides which statement of a turn changes an entry that several statements may change. There is one
	// option for each.
	Target Role = "target"
	// Change decides the effect of a statement on an entry: nothing, link, replace.
	Change Role = "change"
	// Join decides whether two texts say the same: other, same. One case is an entry and a statement within it. The
	// same statement is not written. The other case is an entry and another entry that a statement replaces. The
	// same entry is then replaced too.
	Join Role = "join"
	// Retract decides whether a fact of a replaced entry no longer holds: stay, go.
	Retract Role = "retract"
	// Rest decides whether the remaining text of an entry is worth keeping: drop, keep.
	Rest Role = "rest"
	// Profile decides whether a memory found for a query gets a line in the profile: leave, show.
	Profile Role = "profile"
)

// features names the features of the options of a role, in order.
var features = map[Role][]string{
	Filter: {"keep", "score", "words", "question", "assistant", "number"},
	Apart:  {"apart", "worth", "words"},
	Store:  {"working", "score", "words", "episodic"},
	Lookup: {"own", "worth", "words", "episodic", "number", "slot"},
	Share:  {"shared", "worth", "words", "episodic", "number", "slot"},
	Target: {"alone", "similar", "words"},
	Change: {"link", "link_change", "link_same", "replace", "replace_change", "replace_ends", "replace_similar",
		"replace_slot"},
	Join:    {"same", "odds", "similar", "within"},
	Retract: {"go", "odds", "likeliest", "change"},
	Rest:    {"keep", "worth", "words"},
	Profile: {"show", "rank", "support", "words", "episodic", "preference"},
}

// Features returns the names of a role's features, in order.
func Features(r Role) []string { return slices.Clone(features[r]) }

// Roles returns all roles, in order of name.
func Roles() []Role { return slices.Sorted(maps.Keys(features)) }

// Chooser decides. An implementation is safe for concurrent use only where its comment says so.
type Chooser interface {
	// Choose returns the index of the chosen option. There is at least one option.
	Choose(r Role, options []Option) int
}

// Either lets a chooser decide between two options, and returns whether it takes the second. The second option has
// the log-odds base and the features. Either computes the features only for a chooser that reads them. The first
// option has no log-odds and no features.
func Either(choose Chooser, r Role, base float64, features func() []float64) bool {
	if _, plain := choose.(Rules); plain {
		return base > 0
	}
	second := Option{Features: features(), Base: base}
	return choose.Choose(r, []Option{{Features: make([]float64, len(second.Features))}, second}) == 1
}

// Odds returns the log-odds of a probability, within bounds.
func Odds(p float64) float64 {
	p = min(1-1e-6, max(1e-6, p))
	return math.Log(p / (1 - p))
}

// Above returns the log-odds of a probability minus the log-odds of a threshold. A probability equal to the
// threshold counts as above it.
func Above(p, threshold float64) float64 { return Odds(p) - Odds(threshold) + 1e-9 }

// Rules is the chooser of a program without a policy. It takes the first option with the greatest log-odds. It is
// safe for concurrent use.
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

// Policy moves log-odds by trained heads. Rules decides a role without a head. It is safe for concurrent use while
// no caller changes it.
type Policy struct {
	// Version is the name that tenants use for it. Memories that it made keep this version. tenant.ValidVersion
	// must accept it.
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

// file is a policy in its stored form. The names of the features show which program the policy is for.
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

// Decode reads a policy's file. It returns a terminal error for another format, or for features that this program
// does not have. The error names the fault.
func Decode(data []byte) (*Policy, error) {
	var f file
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fault.Terminal("policy", "is not a policy file: %w", err)
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
			return nil, fault.Terminal(fmt.Sprintf("policy.roles.%s.head.features", r), "are %d, want %d", role.Head.Features,
				len(known))
		}
		if err := role.Head.Validate(); err != nil {
			return nil, fault.Terminal(fmt.Sprintf("policy.roles.%s.head", r), "%w", err)
		}
		out.Heads[r] = role.Head
	}
	return out, nil
}

// Sampler draws decisions by a policy's probabilities and records them, as a rollout of training. Rules decides a
// role without a head, and the Sampler does not record that decision. It is safe for concurrent use. The draws are
// repeatable only where the decisions come in the same order.
type Sampler struct {
	policy *Policy

	mu      sync.Mutex
	random  *rand.Rand
	choices map[Role][]Choice
}

// NewSampler makes a sampler with the given source of randomness.
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

// Taken returns the recorded choices since the last call, by role, and clears them.
func (s *Sampler) Taken() map[Role][]Choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.choices
	s.choices = map[Role][]Choice{}
	return out
}
