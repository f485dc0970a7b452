// Package embedded is what the strategies' embedded policies are made of, without any model server. A memory is a quotation: the
// speaker's own words, one fact each, with who said it, when, and just enough around it to stand alone. What a statement does to
// what is known is decided by a learned relation model. It is deterministic and keeps no state.
// What a turn says is only ever text: instructions in it steer nothing.
package embedded

// RulesVersion is kept with what the policy writes.
const RulesVersion = "embedded/7"

// Identity is what a strategy's entries are marked with.
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
