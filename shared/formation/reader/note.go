package reader

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Note is a part of a turn that a person would write down.
type Note struct {
	// From and To are its bytes in the turn.
	From, To int
	// Kind is its likeliest kind.
	Kind Kind
	// Worth is the mean chance of its words to be part of a note, 0 to 1.
	Worth float64
	// Ends is the chance that it ends or changes an earlier note, and Own that it is about the speaker.
	Ends, Own float64
}

// Limits of the notes.
const (
	// certain is the chance that one word of a note must have, and likely the chance that its words have on average.
	certain, likely = 0.5, 0.42
	// possible is the chance from which a word joins the note around it.
	possible = 0.25
	// widest is the number of unlikely words that a note may have between two of its words.
	widest = 2
	// fewest is the number of words of a note.
	fewest = 2
	// begins is the chance from which a word begins another note.
	begins = 0.5
)

// Notes returns the notes in a marked turn, in order. They do not overlap.
func Notes(turn string, words []Word) []Note {
	var out []Note
	first, last := -1, -1
	end := func() {
		if first >= 0 {
			if n, ok := newNote(words[first : last+1]); ok {
				out = append(out, n)
			}
		}
		first, last = -1, -1
	}
	for i, w := range words {
		if chance(w.Keep) < possible {
			continue
		}
		switch {
		case first < 0:
		case i-last > widest+1, endsSentence(turn[words[last].From:w.From]), chance(w.Begin) > begins:
			end()
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	end()
	return out
}

// newNote makes a note of words, if they are likely enough.
func newNote(words []Word) (Note, bool) {
	n := Note{From: words[0].From, To: words[len(words)-1].To}
	var kindSums [kinds]float64
	most := 0.0
	for _, w := range words {
		p := chance(w.Keep)
		most = max(most, p)
		n.Worth += p
		for k, z := range w.Kinds {
			kindSums[k] += z
		}
		n.Ends += w.Ends
		n.Own += w.Own
	}
	count := float64(len(words))
	n.Worth /= count
	n.Ends, n.Own = chance(n.Ends/count), chance(n.Own/count)
	for k, sum := range kindSums {
		if sum > kindSums[n.Kind] {
			n.Kind = Kind(k)
		}
	}
	return n, len(words) >= fewest && most >= certain && n.Worth >= likely
}

func chance(logit float64) float64 { return 1 / (1 + math.Exp(-logit)) }

// endsSentence reports whether a sentence ends in a text that begins with a word and ends before another.
func endsSentence(s string) bool {
	if strings.ContainsRune(s, '\n') {
		return true
	}
	s = strings.TrimRight(s, " \t\"'”’»)*_")
	last, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?…。！？", last)
}
