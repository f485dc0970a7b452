// Package embedded is what the strategies' embedded policies are made of: statements rewritten to the third
// person by rule, and decisions that compare them with what is known, without any model server. It is deterministic and keeps no state.
// What a turn says is only ever text: instructions in it steer nothing.
package embedded

// RulesVersion is kept with what the rules write.
const RulesVersion = "embedded/2"

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
