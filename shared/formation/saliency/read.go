package saliency

import (
	"strings"
	"sync"
	"unicode"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

// Words that stand for tokens without a known spelling.
const (
	wordUnknown = "<unknown>" // neither the network nor the word vectors know it
	wordEdge    = "<edge>"    // before the first word of a clause and behind the last
	wordNumber  = "<number>"
	wordSpeaker = "<speaker>" // the speaker's own name
	wordPicture = "<picture>" // an emoji
)

// maxWords bounds the words read of one text, so that the cost of a huge turn has a limit.
const maxWords = 400

// Reading is a turn as the network sees it.
type Reading struct {
	Clauses []Clause
	// Numbers are what words cannot give.
	Numbers [numbers]float32
	// letters counts the letters of all words, and unknown counts the letters of words without a vector.
	letters, unknown int
}

// Clause is one sentence, or a part of it between dashes.
type Clause struct {
	Tokens []Token
	// Kind is the type of the clause: a statement, a question, or the description of an image.
	Kind int
}

const (
	kindTells = iota
	kindAsks
	kindShows
	kinds // how many there are
)

// Token is a word, a mark or a part of a contracted word.
type Token struct {
	// Text is its spelling in lower case, or one of the words that stand for others.
	Text string
	// Vector is its place in the word vectors, or -1.
	Vector int32
	// Capital says that it has a capital though it does not begin its clause.
	Capital bool
}

// The numbers of a Reading.
const (
	byAssistant = iota // said by an assistant
	code               // has a code fence
	captioned          // has an image
	unread             // share of letters in words without a vector
	numbers            // how many there are
)

// vectors are read when the first turn is, and shared by all.
var vectors = sync.OnceValue(wordvector.Shipped)

// Read reads a turn.
func Read(t memory.Turn) Reading {
	var r Reading
	name, _, _ := strings.Cut(strings.ToLower(t.Speaker), " ")
	r.Clauses = r.clauses(t.Text, name)
	for _, c := range r.clauses(t.Caption, "") {
		c.Kind = kindShows
		r.Clauses = append(r.Clauses, c)
		r.Numbers[captioned] = 1
	}
	if t.Role == memory.RoleAssistant {
		r.Numbers[byAssistant] = 1
	}
	if strings.Contains(t.Text, "```") {
		r.Numbers[code] = 1
	}
	r.Numbers[unread] = float32(r.unknown) / float32(max(1, r.letters))
	return r
}

// foreign reports whether most of it is not in words that the network can know: another language, or code.
func (r *Reading) foreign() bool { return r.unknown >= 12 && 2*r.unknown >= r.letters }

// clauses cuts a text. The cut is rough, which is enough and many times faster than a sentence model.
func (r *Reading) clauses(said, speaker string) []Clause {
	words := text.Words(said)
	words = words[:min(len(words), maxWords)]
	out := make([]Clause, 0, 4)
	var c Clause
	for i, w := range words {
		c.add(w, speaker)
		if !w.Number && w.Lower != speaker {
			r.letters += w.End - w.Start
			if c.last().Vector < 0 && len(w.Lower) > 3 && !strings.ContainsAny(w.Lower, "'") {
				r.unknown += w.End - w.Start
			}
		}
		gap := said[w.End:]
		if i+1 < len(words) {
			gap = said[w.End:words[i+1].Start]
		}
		c.mark(gap)
		if i+1 == len(words) || ends(gap) {
			if strings.Contains(gap, "?") {
				c.Kind = kindAsks
			}
			out = append(out, c)
			c = Clause{}
		}
	}
	return out
}

func (c *Clause) last() Token { return c.Tokens[len(c.Tokens)-1] }

// ends reports whether the text between two words separates clauses.
func ends(gap string) bool {
	return strings.ContainsAny(gap, ".!?\n;…—–") || strings.Contains(gap, " - ") || strings.Contains(gap, "--")
}

// mark adds the marks after a word that mean something: a comma parts a name that is called, and feeling shows in the
// rest.
func (c *Clause) mark(gap string) {
	for _, m := range [...]string{",", "!", "\"", ":"} {
		if strings.Contains(gap, m) {
			c.Tokens = append(c.Tokens, Token{Text: m, Vector: -1})
		}
	}
	for _, r := range gap {
		if unicode.Is(unicode.So, r) {
			c.Tokens = append(c.Tokens, Token{Text: wordPicture, Vector: -1})
			break
		}
	}
}

// add adds a word, contracted ones in two parts.
func (c *Clause) add(w text.Word, speaker string) {
	first := len(c.Tokens) == 0
	switch {
	case w.Number:
		c.Tokens = append(c.Tokens, Token{Text: wordNumber, Vector: -1})
		return
	case w.Lower == speaker:
		c.Tokens = append(c.Tokens, Token{Text: wordSpeaker, Vector: -1})
		return
	}
	base, ending := uncontracted(w.Lower)
	t := Token{Text: base, Vector: -1, Capital: w.Capital && !first && base != "i"}
	if i, ok := vectors().Find(base); ok {
		t.Vector = i
	}
	c.Tokens = append(c.Tokens, t)
	if ending != "" {
		c.Tokens = append(c.Tokens, Token{Text: ending, Vector: -1})
	}
}

// uncontracted parts "don't" and "I'm".
func uncontracted(w string) (base, ending string) {
	if strings.HasSuffix(w, "n't") && len(w) > 3 {
		return w[:len(w)-3], "n't"
	}
	if i := strings.IndexByte(w, '\''); i > 0 && len(w)-i <= 3 {
		return w[:i], w[i:]
	}
	return w, ""
}
