package intent

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/model/classifier"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

// maxWords bounds the words read from a question, from its end. A question stands after its introduction.
const maxWords = 120

// Question is a question as the model takes it.
type Question struct {
	// Features are the question's features by the hashes of their names, sorted, each once.
	Features []classifier.Feature
	// Dates are the days that have gone by which it names.
	Dates []Date
	// Unread says that too many of its words are none that English has.
	Unread bool
}

// Date is a date in a question. Its features are its position's features and the question's features.
type Date struct {
	text.DateMention
	Features []classifier.Feature
}

// Placeholders for names, numbers and dates in a question.
const (
	edge   = "^"
	number = "#"
	name   = "Name"
	gone   = "<gone>"   // a date that has gone by
	coming = "<coming>" // one that has not
	vague  = "<vague>"  // "a few years ago"
)

// token is a word or a date of a question.
type token struct {
	// word is the word itself. class is its group of similar words, or the word itself if it is one of few.
	word, class string
	// content is whether it is no stop word, unread whether it is no word that English has.
	content, unread bool
	// date is the place of a date that has gone by, else -1.
	date int
}

// sentence is a part of a question, asks whether it asks or requests something.
type sentence struct {
	tokens []token
	asks   bool
}

// Analyse finds the features of a question at a time. dates are the times that it names (text.Dates).
func Analyse(question string, dates []text.DateMention, now time.Time) Question {
	mentions := withYears(question, dates)
	var q Question
	today := now.UTC().Truncate(24 * time.Hour)
	places := make([]int, len(mentions)) // in q.Dates
	for i, m := range mentions {
		places[i] = -1
		if m.Unit != text.Vague && m.Last().Before(today) {
			places[i] = len(q.Dates)
			q.Dates = append(q.Dates, Date{DateMention: m})
		}
	}
	sentences := split(question, mentions, places)
	var set features
	unread, words := 0, 0
	for _, s := range sentences {
		for _, t := range s.tokens {
			words++
			if t.unread {
				unread++
			}
		}
		if s.asks {
			set.sequence(s.tokens)
		} else {
			set.context(s.tokens)
		}
	}
	q.Unread = 5*unread > 2*words
	set.add("unread", strconv.Itoa(4*unread/max(1, words)))
	q.Features = append(set.list(), meaning(sentences)...)
	for _, s := range sentences {
		for i, t := range s.tokens {
			if t.date >= 0 {
				var at features
				at.around(s, i)
				q.Dates[t.date].Features = append(at.list(), q.Features...)
			}
		}
	}
	return q
}

// year is a year as it is written in most languages.
var year = regexp.MustCompile(`\b(?:19|20)\d\d\b`)

// withYears adds the years without a word of English before them to the dates of a question.
func withYears(question string, dates []text.DateMention) []text.DateMention {
	out := slices.Clone(dates)
	for _, at := range year.FindAllStringIndex(question, -1) {
		if slices.ContainsFunc(out, func(m text.DateMention) bool { return m.Start < at[1] && at[0] < m.End }) {
			continue
		}
		if n, err := strconv.Atoi(question[at[0]:at[1]]); err == nil {
			first := time.Date(n, 1, 1, 0, 0, 0, 0, time.UTC)
			out = append(out, text.DateMention{Start: at[0], End: at[1], Unit: text.Year, Time: first})
		}
	}
	slices.SortFunc(out, func(a, b text.DateMention) int { return a.Start - b.Start })
	return out
}

// split makes sentences of a question. Where none ends in a question mark, all are taken to ask.
func split(question string, mentions []text.DateMention, places []int) []sentence {
	words := text.Words(question)
	words = words[max(0, len(words)-maxWords):]
	var out []sentence
	var s sentence
	asked := false
	for i, w := range words {
		next := len(question)
		if i+1 < len(words) {
			next = words[i+1].Start
		}
		at := slices.IndexFunc(mentions, func(m text.DateMention) bool { return m.Start < w.End && w.Start < m.End })
		switch {
		case at < 0:
			s.tokens = append(s.tokens, read(question, words, i, len(s.tokens) == 0))
		case i == 0 || words[i-1].Start < mentions[at].Start: // its first word
			s.tokens = append(s.tokens, dateToken(mentions[at], places[at]))
		}
		if gap := question[w.End:next]; i+1 == len(words) || ends(gap, w) {
			s.asks = strings.ContainsAny(gap, "?？")
			asked = asked || s.asks
			out = append(out, s)
			s = sentence{}
		}
	}
	for i := range out {
		out[i].asks = out[i].asks || !asked
	}
	return out
}

// ends reports whether a sentence ends in the gap behind a word: not in "Dr. Brandt".
func ends(gap string, before text.Word) bool {
	const title = 3 // bytes
	return strings.ContainsAny(gap, "?？!！。\n") ||
		strings.Contains(gap, ".") && !(before.Capital && len(before.Lower) <= title)
}

func dateToken(m text.DateMention, place int) token {
	word := coming
	switch {
	case m.Unit == text.Vague:
		word = vague
	case place >= 0:
		word = gone
	}
	return token{word: word, class: word, date: place}
}

// read reads a word. A name or a number is read by its kind, and a content word by its form, too.
func read(question string, words []text.Word, i int, first bool) token {
	w := words[i]
	t := token{word: w.Lower, class: w.Lower, date: -1}
	switch {
	case w.Number:
		t.word, t.class = number, number
	case text.IsFiller(question, words, i):
	case w.Capital && !first && w.Lower != "i":
		t.word, t.class, t.content = name, name, true
	default:
		t.content, t.class = true, form(w.Lower)
		_, known := wordvector.Shipped().Find(w.Lower)
		t.unread = !known
	}
	return t
}

// form returns the form of a content word by its ending.
func form(lower string) string {
	switch {
	case text.IsPast(lower):
		return "<past>"
	case strings.HasSuffix(lower, "ing"):
		return "<ing>"
	case strings.HasSuffix(lower, "er"):
		return "<er>"
	case strings.HasSuffix(lower, "ly"):
		return "<ly>"
	case strings.HasSuffix(lower, "s"):
		return "<s>"
	}
	return "<w>"
}

// features are hashes of a question's features.
type features []uint32

func (f *features) add(kind string, words ...string) { *f = append(*f, hash(kind, words...)) }

// hash is FNV-1a of words with a byte between them that none has.
func hash(kind string, words ...string) uint32 {
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	write := func(s string) {
		for i := range len(s) {
			h = (h ^ uint32(s[i])) * prime
		}
		h *= prime
	}
	write(kind)
	for _, w := range words {
		write(w)
	}
	return h
}

// list has each feature once, in order. Together they have a length of 1.
func (f features) list() []classifier.Feature {
	slices.Sort(f)
	f = slices.Compact(f)
	out := make([]classifier.Feature, len(f))
	for i, key := range f {
		out[i] = classifier.Feature{Key: key, Value: float32(1 / math.Sqrt(float64(len(f))))}
	}
	return out
}

// meaning returns the direction of the content words in the question, as numbers among the features. It covers
// words outside the training questions, such as whether an action is done once or held for long.
func meaning(sentences []sentence) []classifier.Feature {
	const length = 0.3 // of all numbers together, beside the other features' 1
	table := wordvector.Shipped()
	sum := make([]float32, table.Dimension())
	for _, s := range sentences {
		for _, t := range s.tokens {
			if n, ok := table.Find(t.word); ok && t.content && s.asks {
				table.Add(sum, n, 1)
			}
		}
	}
	square := 0.0
	for _, x := range sum {
		square += float64(x) * float64(x)
	}
	if square == 0 {
		return nil
	}
	out := make([]classifier.Feature, len(sum))
	for i, x := range sum {
		out[i] = classifier.Feature{Key: hash("meaning", strconv.Itoa(i)),
			Value: float32(float64(x) * length / math.Sqrt(square))}
	}
	return out
}

// sequence adds the parts of a sentence with a question: words, neighbours, neighbours by class, and the pairs of
// words in their order.
func (f *features) sequence(tokens []token) {
	at := func(i int) token {
		if i < 0 || i >= len(tokens) {
			return token{word: edge, class: edge}
		}
		return tokens[i]
	}
	for i := range len(tokens) + 1 {
		a, b, c := at(i-1), at(i), at(i+1)
		f.add("1", b.word)
		f.add("2", a.word, b.word)
		f.add("c2", a.class, b.class)
		f.add("c3", a.class, b.class, c.class)
	}
	for i := range min(3, len(tokens)) {
		f.add("at", strconv.Itoa(i), tokens[i].class)
	}
	const reach = 8
	for i, a := range tokens {
		if a.content {
			continue
		}
		for j := i + 2; j < min(i+reach, len(tokens)); j++ {
			f.add("..", a.word, tokens[j].class)
		}
	}
}

// context adds the words of a sentence that only leads up to a question.
func (f *features) context(tokens []token) {
	for i, t := range tokens {
		f.add("before", t.word)
		if i > 0 {
			f.add("before", tokens[i-1].class, t.class)
		}
	}
}

// around adds the words around a date of a sentence.
func (f *features) around(s sentence, i int) {
	f.add("asks", strconv.FormatBool(s.asks))
	for k := 1; k <= 4; k++ {
		before, behind := edge, edge
		if i-k >= 0 {
			before = s.tokens[i-k].class
		}
		if i+k < len(s.tokens) {
			behind = s.tokens[i+k].class
		}
		f.add("-", strconv.Itoa(k), before)
		f.add("-", before)
		f.add("+", strconv.Itoa(k), behind)
		f.add("+-", strconv.Itoa(k), before, behind)
	}
}
