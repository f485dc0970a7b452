package reader

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/text"
)

// Note is a part of a turn that a person would write down.
type Note struct {
	// From and To are its bytes in the turn, up to the marks around its clause. First and Last are the bytes of the words
	// that are likely part of it.
	From, To, First, Last int
	// Kind is its likeliest kind.
	Kind Kind
	// Worth is the mean chance of its words to be part of a note, 0 to 1.
	Worth float64
}

// Limits of the notes. They are chosen on talks that the model was not trained on.
const (
	// certain is the chance that one word of a note must have, and likely the chance that its words have on average.
	certain, likely = 0.6, 0.45
	// possible is the chance from which a word joins the note around it.
	possible = 0.3
	// widest is the number of unlikely words that a note may have between two of its words.
	widest = 2
	// fewest is the number of words of a note.
	fewest = 2
	// begins is the chance from which a word begins another note.
	begins = 0.5
	// A note grows to the marks around its clause by at most these numbers of words, of at least this chance.
	growsLeft, growsRight, grows = 4, 8, 0.02
)

// run is the first and the last word of a note.
type run struct{ first, last int }

// Notes returns the notes in a marked turn, in order. They do not overlap.
func Notes(turn string, words []Word) []Note {
	runs := runsOf(turn, words)
	var out []Note
	for i, r := range runs {
		within := run{0, len(words) - 1}
		if i > 0 {
			within.first = runs[i-1].last + 1
		}
		if i+1 < len(runs) {
			within.last = runs[i+1].first - 1
		}
		if n, ok := newNote(words[r.first : r.last+1]); ok {
			n.First, n.Last = words[r.first].From, words[r.last].To
			r = r.grow(turn, words, within)
			n.From, n.To = words[r.first].From, words[r.last].To
			out = append(out, n)
		}
	}
	return out
}

// runsOf returns the runs of possible words. A run ends with a sentence, or where another note begins.
func runsOf(turn string, words []Word) []run {
	var out []run
	for i, w := range words {
		if chance(w.Keep) < possible {
			continue
		}
		n := len(out) - 1
		if n < 0 || i-out[n].last > widest+1 || endsWithin(turn, words[out[n].last:i+1]) || chance(w.Begin) > begins {
			out = append(out, run{i, i})
			continue
		}
		out[n].last = i
	}
	return out
}

// endsWithin reports whether a sentence ends between the first and the last of some words.
func endsWithin(turn string, words []Word) bool {
	for i := 1; i < len(words); i++ {
		if endsSentence(turn[words[i-1].From:words[i].From]) && !isAbbreviated(turn, words[i].From) {
			return true
		}
	}
	return false
}

// grow extends a run to the marks around its clause.
func (r run) grow(turn string, words []Word, within run) run {
	for n := 0; n < growsRight && r.last < within.last; n++ {
		next := words[r.last+1]
		if endsClause(turn, words[r.last].From, next.From) || chance(next.Keep) < grows {
			break
		}
		r.last++
	}
	for n := 0; n < growsLeft && r.first > within.first; n++ {
		before := words[r.first-1]
		if endsClause(turn, before.From, words[r.first].From) || chance(before.Keep) < grows {
			break
		}
		r.first--
	}
	return r
}

// newNote makes a note of the words of a run, if they are likely enough.
func newNote(words []Word) (Note, bool) {
	n := Note{}
	var kindSums [kinds]float64
	most := 0.0
	for _, w := range words {
		p := chance(w.Keep)
		most = max(most, p)
		n.Worth += p
		for k, z := range w.Kinds {
			kindSums[k] += z
		}
	}
	count := float64(len(words))
	n.Worth /= count
	for k, sum := range kindSums {
		if sum > kindSums[n.Kind] {
			n.Kind = Kind(k)
		}
	}
	return n, len(words) >= fewest && most >= certain && n.Worth >= likely
}

// closing marks may follow the mark that ends a clause.
const closing = " \t\"'”’»*_"

// endsClause reports whether a clause ends between the beginnings of two words of a turn.
func endsClause(turn string, word, next int) bool {
	return endsWith(turn[word:next], ",.;:!?…—–)。！？、，", closing) && !isAbbreviated(turn, next)
}

// isAbbreviated reports whether an abbreviation stands before a word of a turn: "Dr. Huber".
func isAbbreviated(turn string, next int) bool { return text.IsAbbreviated(turn[:next], turn[next:]) }

// endsSentence reports whether a sentence ends in a text that begins with a word and ends before another.
func endsSentence(s string) bool { return endsWith(s, ".!?…。！？", closing+")") }

// endsWith reports whether a text has the end of a line, or ends with one of some marks and closing ones.
func endsWith(s, marks, closing string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, closing))
	return strings.ContainsRune(s, '\n') || strings.ContainsRune(marks, last)
}

func chance(logit float64) float64 { return 1 / (1 + math.Exp(-logit)) }
