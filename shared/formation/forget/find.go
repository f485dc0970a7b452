package forget

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// maxNamed is the maximum number of memories that one request retracts.
const maxNamed = 3

// Find returns the entries that a request surely names, among the active entries of its speaker. These are the memory
// with all words of the object, and talk of the same turns. If several memories have these words, Find returns those
// that state the object ("my address is"), else the only one that has it as the user's own ("my address"). It returns
// no entries if the request is not sure.
func (r Request) Find(known []memory.Memory) []memory.Memory {
	var named, talk []memory.Memory
	for _, m := range known {
		if m.Status != memory.StatusActive || !r.isIn(m) {
			continue
		}
		if m.Tier == memory.TierTalk {
			talk = append(talk, m)
		} else {
			named = append(named, m)
		}
	}
	if len(named) == 0 {
		named, talk = talk, nil
	}
	named = r.narrow(named)
	if len(named) == 0 {
		return nil
	}
	for _, t := range talk {
		if slices.ContainsFunc(named, func(m memory.Memory) bool { return overlap(m.Sources, t.Sources) }) {
			named = append(named, t)
		}
	}
	return named
}

// narrow returns the memories that the request surely names, among those with its words.
func (r Request) narrow(named []memory.Memory) []memory.Memory {
	if len(named) <= 1 {
		return named
	}
	var stated, owned []memory.Memory
	for _, m := range named {
		words := strings.Fields(text.Canonical(m.Content))
		switch r.statedIn(words) {
		case states:
			stated, owned = append(stated, m), append(owned, m)
		case owns:
			owned = append(owned, m)
		}
	}
	switch {
	case len(stated) > 0 && len(stated) <= maxNamed:
		return stated
	case len(owned) == 1:
		return owned
	}
	return nil
}

// How a memory has the object of a request.
const (
	mentions = iota
	owns
	states
)

// copulas stand behind an object that a memory states.
var copulas = text.WordSet("is are was were es son era ist sind war est sont était é são è sono was zijn")

func (r Request) statedIn(words []string) int {
	object := strings.Fields(r.Object)
	how := mentions
	for i := 1; i+len(object) <= len(words); i++ {
		if !own[words[i-1]] || !slices.Equal(words[i:i+len(object)], object) {
			continue
		}
		how = max(how, owns)
		if end := i + len(object); end < len(words) && copulas[words[end]] {
			how = states
		}
	}
	return how
}

// Mentions reports whether an active entry has all words of the object.
func (r Request) Mentions(m memory.Memory) bool { return m.Status == memory.StatusActive && r.isIn(m) }

// isIn reports whether an entry has all words of the object, in the language of the entry.
func (r Request) isIn(m memory.Memory) bool {
	language := text.Detect(m.Content, text.English)
	have := language.SearchTerms(strings.Join(append([]string{m.Content, m.Topic, strings.ReplaceAll(m.Slot, "/", " ")},
		m.Keywords...), " "))
	terms := language.SearchTerms(r.Object)
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t string) bool { return !slices.Contains(have, t) })
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(id string) bool { return slices.Contains(b, id) })
}
