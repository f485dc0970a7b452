package features

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

// vocabulary numbers the words of a user's texts.
type vocabulary struct {
	vectorOf
	// names are the words of all speakers' names, nameTerms their search terms in all of languages.
	names, nameTerms map[string]bool
	// languages are those that the user's texts are in, the usual one first.
	languages []text.Language
	// terms numbers search terms.
	terms map[string]int32
	// wordPlaces numbers those words that have a vector: by their number in the table, and back.
	// A term of another language than English has a vector of its spelling: its number is below 0, see spelledNumber.
	wordPlaces map[int32]int32
	words      []int32
	spellings  map[string]int32
}

// vectorOf has the vectors of words by their numbers: words of the table, and below 0 spellings.
type vectorOf struct {
	table   *wordvector.Table
	spelled []string
}

// add adds the vector of a word, times weight.
func (v vectorOf) add(sum []float32, word int32, weight float32) {
	if word >= 0 {
		v.table.Add(sum, word, weight)
		return
	}
	wordvector.Spell(sum, v.spelled[spelledNumber(word)], weight)
}

// addToText adds a word's vector to a text's sum, times weight.
func (v vectorOf) addToText(sum []float32, word int32, weight float32) {
	if word >= 0 {
		wordvector.ShippedSentences().Add(sum, word, weight)
		return
	}
	wordvector.Spell(sum, v.spelled[spelledNumber(word)], weight)
}

func newVocabulary(table *wordvector.Table, languages []text.Language, speakers []speaker) vocabulary {
	v := vocabulary{
		vectorOf: vectorOf{table: table}, languages: languages, names: map[string]bool{}, nameTerms: map[string]bool{},
		terms:      map[string]int32{},
		wordPlaces: map[int32]int32{}, spellings: map[string]int32{},
	}
	for _, s := range speakers {
		for _, n := range s.names { // even a stop word: a query tells whether it means the name
			v.names[n], v.nameTerms[text.BaseForm(text.Stem(n))] = true, true
			for _, l := range languages {
				if l == text.English {
					continue
				}
				for _, t := range l.SearchTerms(n) {
					v.nameTerms[t] = true
				}
			}
		}
	}
	return v
}

// number returns the number of a key, and assigns a new one if needed.
func number[K comparable](numbers map[K]int32, key K) int32 {
	n, ok := numbers[key]
	if !ok {
		n = int32(len(numbers)) //nolint:gosec // bounded by the length of all texts
		numbers[key] = n
	}
	return n
}

// baseForms replaces the irregular forms of English among search terms, in place: a question has "grow" where the
// answer has "grew".
func baseForms(terms []string, in text.Language) []string {
	if in == text.English {
		for i, t := range terms {
			terms[i] = text.BaseForm(t)
		}
	}
	return terms
}

func (v *vocabulary) term(term string) int32 { return number(v.terms, term) }

// known returns the numbers in the table of a word that carries content, part by part; none for names.
func (v *vocabulary) known(lower string) []int32 {
	var out []int32
	for part := range strings.SplitSeq(strings.TrimSuffix(lower, "'s"), "-") {
		if text.IsStopWord(part) || v.names[part] {
			continue
		}
		if i, ok := v.table.Find(part); ok {
			out = append(out, i)
		}
	}
	return out
}

// spelledNumber returns the number of the n-th spelling, apart from the words of the table.
func spelledNumber(n int32) int32 { return -1 - n }

// spelling returns the number of a term's spelling.
func (v *vocabulary) spelling(term string) int32 {
	n := number(v.spellings, term)
	if int(n) == len(v.spelled) {
		v.spelled = append(v.spelled, term)
	}
	return spelledNumber(n)
}

// token is the contribution of a written word to a text.
type token struct {
	terms  []int32
	places []int32
	number bool
	time   bool
	// name reports whether the word is written like a name and is no speaker's name.
	name bool
}

// reading is a text taken apart.
type reading struct {
	terms  []int32
	places []int32
	// number, time and name say that it has one.
	number, time, name bool
}

func (r *reading) clear() { *r = reading{terms: r.terms[:0], places: r.places[:0]} }

// written is a word with its language, and whether it is a filler there.
type written struct {
	word   string
	in     text.Language
	filler bool
}

// reader takes texts apart; it remembers words, because most come again.
type reader struct {
	vocabulary
	// replaced has the earlier versions of a memory, by its id.
	replaced map[string][]memory.Memory
	tokens   map[written]token
}

// read adds a text in a language to a reading.
func (r *reader) read(out *reading, said string, in text.Language) {
	byWord := in != text.English || strings.IndexFunc(said, func(c rune) bool { return c > unicode.MaxASCII }) < 0
	if !byWord { // accents are taken off a text as a whole
		for _, t := range baseForms(in.SearchTerms(said), in) {
			out.terms = append(out.terms, r.term(t))
		}
	}
	if in != text.English {
		said = in.Plain(said)
	}
	words := text.Words(said)
	for i, w := range words {
		t := r.token(said, words, i, in)
		if byWord {
			out.terms = append(out.terms, t.terms...)
		}
		out.places = append(out.places, t.places...)
		out.number = out.number || t.number
		out.time = out.time || t.time
		out.name = out.name || t.name && i > 0 && !opensSentence(said[:w.Start])
	}
}

func (r *reader) token(said string, words []text.Word, i int, in text.Language) token {
	w := words[i]
	key := written{word: said[w.Start:w.End], in: in, filler: in.IsFiller(said, words, i)}
	t, ok := r.tokens[key]
	if ok {
		return t
	}
	for _, term := range baseForms(in.WordTerms(said, words, i), in) {
		t.terms = append(t.terms, r.term(term))
		if in != text.English && !r.nameTerms[term] {
			t.places = append(t.places, r.place(r.spelling(term)))
		}
	}
	if in == text.English {
		for _, k := range r.known(w.Lower) {
			t.places = append(t.places, r.place(k))
		}
	}
	t.number = w.Number || isNumberWord(w.Lower)
	t.time = text.IsTimeWord(w)
	t.name = w.Capital && !r.names[strings.TrimSuffix(w.Lower, "'s")] && !key.filler
	r.tokens[key] = t
	return t
}

// place returns the place of a word that has a vector.
func (v *vocabulary) place(word int32) int32 {
	n := number(v.wordPlaces, word)
	if int(n) == len(v.words) {
		v.words = append(v.words, word)
	}
	return n
}

// opensSentence reports whether a sentence ends just before a word: capitals say nothing there.
func opensSentence(before string) bool {
	return strings.ContainsAny(before[max(0, len(before)-2):], ".!?\n")
}

// spokenText is a turn's text, with the description of its picture.
func spokenText(t memory.Turn) string {
	if t.Caption == "" {
		return t.Text
	}
	return t.Text + " " + t.Caption
}

func unique[T ~int32 | ~string](list []T) []T {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// isNumberWord reports whether a word is a number or an approximate quantity.
func isNumberWord(lower string) bool {
	switch lower {
	case "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty",
		"thirty", "fifty",
		"hundred", "thousand", "couple", "few", "several", "dozen", "once", "twice":
		return true
	}
	return false
}
