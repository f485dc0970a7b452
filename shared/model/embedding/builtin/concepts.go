package builtin

import "sync"

// sharedLexicon is read-only. The first call makes it.
var sharedLexicon = sync.OnceValue(newLexicon)

// Concepts returns the names of the concepts of concepts.txt that a word belongs to. The argument is the English
// (Snowball) stem in lower case. Most words have no concept. Words of near meaning share one: "moved" and "lives"
// both have "live". Callers must not change the result.
func Concepts(stem string) []string { return sharedLexicon().concepts[stem] }
