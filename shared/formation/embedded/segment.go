package embedded

import (
	"maps"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// segment is what is counted of one sentence.
type segment struct {
	words    int
	content  int  // words that carry content, small talk not counted
	names    int  // capitalised words inside the sentence, other than the speakers
	times    int  // numbers and words of time
	third    bool // somebody or something else is the subject
	tells    int  // verbs and nouns that tell of states, plans and likes
	first    bool // the speaker speaks of themself
	second   bool // the other one is spoken of
	question bool
	reaction bool // starts like a reply that only approves, thanks or greets
}

// scanSegments cuts a text at ends of sentences and counts features. The cut is rough, which
// is enough for counting and many times faster than a sentence model.
func scanSegments(said string, names map[string]bool) []segment {
	words := text.Words(said)
	if len(words) == 0 {
		return nil
	}
	segments := make([]segment, 0, 4)
	current := segment{}
	for i, w := range words {
		gap := ""
		if i+1 < len(words) {
			gap = said[w.End:words[i+1].Start]
		} else {
			gap = said[w.End:]
		}
		current.add(w, names)
		if end := strings.ContainsAny(gap, ".!?\n"); end || i+1 == len(words) {
			current.question = strings.Contains(gap, "?")
			segments = append(segments, current)
			current = segment{}
		}
	}
	return segments
}

// add counts one more word.
func (s *segment) add(w text.Word, names map[string]bool) {
	opening := s.words == 0
	s.words++
	switch {
	case firstPerson[w.Lower]:
		s.first = true
	case secondPerson[w.Lower]:
		s.second = true
	case opening && thirdPerson[w.Lower]:
		s.third = true
	}
	if s.words <= 3 && s.content == 0 && reactions[w.Lower] && !(s.first && orders[w.Lower]) {
		s.reaction = true
	}
	if w.Number || timeWords[w.Lower] {
		s.times++
	}
	if smallTalk[w.Lower] || text.IsStopWord(w.Lower) || names[w.Lower] {
		return
	}
	s.content++
	if w.Capital && !opening {
		s.names++
	}
	if tellingWords[w.Lower] {
		s.tells++
	}
}

// speakerNames returns the words of the speakers' names, in lower case, and those beginnings of them that somebody is called by: that
// are written with a capital within a sentence, or before a comma, and never without one.
func speakerNames(turns []memory.Turn) map[string]bool {
	names, short := map[string]bool{}, map[string]bool{}
	last := ""
	for _, t := range turns {
		if t.Speaker == last {
			continue
		}
		last = t.Speaker
		for _, w := range text.Words(t.Speaker) {
			names[w.Lower] = true
			for n := 2; n <= 4 && n < len(w.Lower); n++ {
				short[w.Lower[:n]] = true
			}
		}
	}
	ordinary := map[string]bool{}
	for _, t := range turns {
		words := text.Words(t.Text)
		for i, w := range words {
			called := w.Capital && (strings.HasPrefix(t.Text[w.End:], ",") || i > 0 && !strings.ContainsAny(t.Text[words[i-1].End:w.Start], ".!?\n"))
			if short[w.Lower] && called {
				names[w.Lower] = true
			}
			ordinary[w.Lower] = ordinary[w.Lower] || short[w.Lower] && !w.Capital
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return ordinary[name] && short[name] })
	return names
}

// Weights of what makes a sentence worth stating. They were set by hand on what each feature means.
const (
	weightContent = 0.22 // per word of content
	weightName    = 0.7  // per name
	weightTime    = 0.5  // per number or word of time
	weightTelling = 0.35 // per word of states, plans and likes
	weightFirst   = 0.55 // the speaker speaks of themself
	weightThird   = 0.5  // somebody or something they know is spoken of

	// What a sentence tells counts less when it asks, only reacts, or speaks of the other one.
	shareQuestion      = 0.3
	shareReaction      = 0.35
	shareReactionFirst = 0.4
	shareSecond        = 0.4
)

// value is what one sentence adds to the sum: what it tells, less where it asks, greets or
// only reacts.
func (s segment) value() float64 {
	if s.content == 0 {
		return 0
	}
	v := weightContent*float64(min(s.content, 10)) + weightName*float64(min(s.names, 3)) +
		weightTime*float64(min(s.times, 2)) + weightTelling*float64(min(s.tells, 3))
	if s.first {
		v += weightFirst
	}
	if s.third {
		v += weightThird
	}
	switch {
	case s.question:
		return v * shareQuestion
	case s.reaction && s.first:
		return v * shareReactionFirst
	case s.reaction:
		return v * shareReaction
	case s.second && !s.first:
		return v * shareSecond
	}
	return v
}
