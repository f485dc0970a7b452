// Package embedded has the parts of the strategies' embedded policies, which need no model server. A memory is a
// quotation of the speaker's words, with one fact each. It names the speaker and the time, and has just enough context
// to be clear alone. A learned relation model decides the effect of a statement on the known entries. The package is
// deterministic and keeps no state. The text of a turn is only data: instructions in it have no effect.
package embedded

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
