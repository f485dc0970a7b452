package text

import (
	_ "embed"
	"strings"
)

// IsStopWord reports whether a lower-case word is a stop word: a pronoun, article, auxiliary, preposition,
// conjunction or contraction of these.
func IsStopWord(lower string) bool { return stopWords[lower] }

var stopWords = wordLists.Set("stopWords")

// words.txt has the long lists of words of this package.
//
//go:embed words.txt
var wordFile string

var wordLists = ReadWordLists(wordFile)

// WordLists are lists of words by their names. Blanks separate the words of a list.
type WordLists map[string]string

// ReadWordLists reads a file of lists. A line has a list's name in brackets, and the next lines have its words. A line
// that begins with "#" is a comment.
func ReadWordLists(file string) WordLists {
	out, name := WordLists{}, ""
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		if inside, ok := strings.CutPrefix(line, "["); ok {
			name = strings.TrimSuffix(inside, "]")
		} else if !strings.HasPrefix(line, "#") {
			out[name] = strings.TrimSpace(out[name] + " " + line)
		}
	}
	return out
}

// Set returns the words of a list. A name without a list is a mistake of the program.
func (l WordLists) Set(name string) map[string]bool {
	words, ok := l[name]
	if !ok {
		panic("there is no list of words " + name)
	}
	return WordSet(words)
}

// WordSet makes a set of the words of a list, which blanks separate.
func WordSet(list string) map[string]bool {
	words := strings.Fields(list)
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// Union is the words of all sets.
func Union(sets ...map[string]bool) map[string]bool {
	out := map[string]bool{}
	for _, s := range sets {
		for k := range s {
			out[k] = true
		}
	}
	return out
}
