package builtin

import "sync"

// sharedLexicon is read-only, and made when it is first asked for.
var sharedLexicon = sync.OnceValue(newLexicon)

// Concepts returns the names of the concepts of concepts.txt that a word belongs to, by its English
// (Snowball) stem in lower case; none for most. Words that are near in meaning share one: "moved" and
// "lives" both have "live". Callers must not change the result.
func Concepts(stem string) []string { return sharedLexicon().concepts[stem] }
