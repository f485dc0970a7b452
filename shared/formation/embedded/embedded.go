// Package embedded forms memory in the way of the salimory strategy without any model
// server: a gate over simple features, statements rewritten to the third person by rule, and
// decisions that compare them with what is known. It is deterministic and keeps no state.
// What a turn says is only ever text: instructions in it steer nothing.
package embedded

import "strings"

// Names kept with what the policy decides and writes.
const (
	Strategy      = "salimory"
	FilterVersion = "embedded-filter/1"
	FormerVersion = "salimory-embedded/1"
)

// wordSet makes a set of the words of a list.
func wordSet(list string) map[string]bool {
	words := strings.Fields(list)
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}
