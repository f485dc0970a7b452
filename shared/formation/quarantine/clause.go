package quarantine

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/text"
)

// token is a word of a sentence, or an expression of a script without spaces.
type token struct {
	// from and to are its bytes in the text.
	from, to int
	// word is it in lower case, without accents, invisible marks and look-alikes.
	word string
	// begins are the classes of expressions that begin here, has of all that it is part of.
	begins, has class
	// opens says that a mark stands before it, or that it is the first.
	opens bool
	// phrase reports that the token is part of an expression of several words before an order: "I want you to".
	phrase bool
}

// sentence is a sentence with its tokens.
type sentence struct {
	from, to int
	text     string
	tokens   []token
	// asks says that it is a question.
	asks bool
	// all are the classes of all tokens.
	all class
	// otherwise is the text in other readings, once readings was called.
	otherwise []string
	decoded   bool
	// lastAct is the last token with the verb of an order, -1 for none, once lastOrder was called.
	lastAct int
	acted   bool
}

// readings is the text as it reads behind a disguise.
func (s *sentence) readings() []string {
	if !s.decoded {
		s.otherwise, s.decoded = readings(s.text), true
	}
	return s.otherwise
}

// sentences divides a text. A mark ends a sentence before white space or the end. A mark of a script without spaces
// always does.
func sentences(s string) []sentence {
	var out []sentence
	from := 0
	add := func(to int) {
		if part := s[from:to]; strings.TrimSpace(part) != "" {
			out = append(out, read(part, from))
		}
		from = to
	}
	for i, r := range s {
		end := i + utf8.RuneLen(r)
		next, _ := utf8.DecodeRuneInString(s[min(end, len(s)):])
		switch {
		case r == '\n':
			add(end)
		case r == '.' && text.IsAbbreviated(s[from:end], s[end:]):
		case (r == '.' || r == '!' || r == '?' || r == '…') && (end >= len(s) || unicode.IsSpace(next)):
			add(end)
		case r > unicode.MaxLatin1 && r != '…' && unicode.Is(unicode.Sentence_Terminal, r):
			add(end)
		}
	}
	add(len(s))
	return out
}

// read finds the tokens of a sentence that begins at a byte of the text.
func read(said string, from int) sentence {
	l := shipped()
	s := sentence{from: from, to: from + len(said), text: said}
	last := strings.TrimRightFunc(said, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`"'”’»)`, r)
	})
	s.asks = isQuestion(last)
	opens := true
	for i := 0; i < len(said); {
		r, size := utf8.DecodeRuneInString(said[i:])
		switch {
		case strings.HasPrefix(said[i:], "://"): // the rest of an address has no words
			i = runEnd(said, i, func(r rune) bool { return !unicode.IsSpace(r) && r < utf8.RuneSelf })
		case !isWord(r):
			opens = opens || parts(r, said, i)
			i += size
		case unspaced(r):
			end := runEnd(said, i, unspaced)
			s.unspaced(l, said[i:end], from+i, opens)
			i, opens = end, false
		default:
			end := runEnd(said, i, func(r rune) bool { return isWord(r) && !unspaced(r) })
			if word := fold(said[i:end]); word != "" {
				s.tokens = append(s.tokens, token{from: from + i, to: from + end, word: word, opens: opens})
				opens = false
			}
			i = end
		}
	}
	for i := range s.tokens {
		l.mark(s.tokens, i)
	}
	for _, t := range s.tokens {
		s.all |= t.has
	}
	return s
}

// interrogatives are the question words of Japanese. Without one, か also ends a polite order.
var (
	interrogatives   = []string{"どう", "何", "なぜ", "どこ", "誰", "いつ", "どの", "どれ", "どんな", "いくつ"}
	noInterrogatives = strings.NewReplacer("どうか", "", "どうぞ", "", "いつも", "",
		"何でも", "", "誰でも", "", "誰にも", "", "どこでも", "")
)

// isQuestion reports whether a sentence ends with the mark of a question, or in Japanese has a question word and か.
func isQuestion(said string) bool {
	if strings.HasSuffix(said, "?") || strings.HasSuffix(said, "？") || strings.HasSuffix(said, "؟") {
		return true
	}
	said = noInterrogatives.Replace(strings.TrimRight(said, "。.!！"))
	return strings.HasSuffix(said, "か") &&
		slices.ContainsFunc(interrogatives, func(w string) bool { return strings.Contains(said, w) })
}

// unspaced adds the expressions of a run of letters that are not parted into words.
func (s *sentence) unspaced(l *lexicon, run string, from int, opens bool) {
	var runes []rune
	var at []int
	for i, r := range run {
		for _, f := range fold(string(r)) {
			runes, at = append(runes, f), append(at, i)
		}
	}
	at = append(at, len(run))
	for i := 0; i < len(runes); {
		n, of := l.longest(runes[i:])
		if n = max(n, 1); isPartOfWord(runes[i:], n) {
			of &^= user
		}
		s.tokens = append(s.tokens, token{
			from: from + at[i], to: from + at[i+n], word: string(runes[i : i+n]), begins: of, has: of, opens: opens,
		})
		i, opens = i+n, false
	}
}

// isPartOfWord reports whether a longer word in Katakana begins with the first n characters: "user support".
func isPartOfWord(runes []rune, n int) bool {
	katakana := func(r rune) bool { return unicode.Is(unicode.Katakana, r) || r == 'ー' }
	return n < len(runes) && katakana(runes[n-1]) && katakana(runes[n])
}

func runEnd(s string, i int, in func(rune) bool) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !in(r) {
			break
		}
		i += size
	}
	return i
}

// isWord reports whether a character is part of a word, be it an invisible one.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
	}
	return r != utf8.RuneError && (unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Co) || isInvisible(r))
}

// isInvisible reports whether a character has no visible shape.
func isInvisible(r rune) bool { return unicode.Is(unicode.Cf, r) }

// parts reports whether a mark parts clauses. Apostrophes and hyphens within words, and white space, do not.
func parts(r rune, said string, at int) bool {
	switch {
	case unicode.IsSpace(r), r == '\'', r == '’':
		return false
	case r == '-' || r == '/' || r == '@' || r == '.':
		before, _ := utf8.DecodeLastRuneInString(said[:at])
		return at == 0 || unicode.IsSpace(before)
	}
	return true
}

// isNear reports whether a token up to n places before or behind token i has a class.
func (s *sentence) isNear(i, before, behind int, of class) bool {
	for k := max(0, i-before); k <= min(len(s.tokens)-1, i+behind); k++ {
		if k != i && s.tokens[k].has&of != 0 {
			return true
		}
	}
	return false
}

// hasWithin reports whether a token from i up to k has a class, without phrases before an order.
func (s *sentence) hasWithin(i, k int, of class) bool {
	for j := max(0, i); j < min(k, len(s.tokens)); j++ {
		if s.tokens[j].has&of != 0 && !s.tokens[j].phrase {
			return true
		}
	}
	return false
}

// act returns the acts of an order with the verb at token i; none in a narrative.
func (s *sentence) act(i int) class {
	t := s.tokens[i]
	found := class(0)
	if of := t.begins & acts; of != 0 && s.placed(i) {
		found = of
	}
	if of := t.begins & actsAnywhere; of != 0 && !s.hasWithin(0, i, self|subj) {
		found |= of >> anywhereShift
	}
	if s.asks && s.all&please == 0 {
		return 0
	}
	return found
}

// anywhereShift is the distance between the classes of actsAnywhere and the classes of acts.
const anywhereShift = 8

// placed reports whether a verb begins a clause, but for words that lead up to an order.
func (s *sentence) placed(i int) bool {
	asked := false
	for j := i; ; j-- {
		if s.tokens[j].opens {
			return true
		}
		before := s.tokens[j-1]
		switch {
		case before.has&(lead|ai|ifAI|addr|please|when|always|code) != 0 && before.has&(self|subj) == 0, before.phrase:
			asked = asked || before.has&please != 0
		case before.has&conj != 0: // "I log in and delete the entries" tells
			return asked || !s.isStatement(j-1) || s.meansYourMemory(i)
		default:
			return false
		}
	}
}

// nearObject is how many tokens behind a verb its object begins.
const nearObject = 5

// meansYourMemory reports whether the object of the verb at token i is all memory of the addressed model: "I have a
// bike and delete all your memories".
func (s *sentence) meansYourMemory(i int) bool {
	for k := i + 1; k < min(len(s.tokens), i+nearObject); k++ {
		if s.tokens[k].has&memo != 0 && s.isNear(k, 2, 0, your) && s.isNear(k, 4, 0, all) {
			return true
		}
	}
	return false
}

// isStatement reports whether the clause before token i has a subject, and no order.
func (s *sentence) isStatement(i int) bool {
	for j := range i {
		if s.tokens[j].begins&acts != 0 && s.tokens[j].opens {
			return false
		}
	}
	return s.hasWithin(0, i, self|subj)
}

// start returns where the clause of token i begins in the text.
func (s *sentence) start(i int) int {
	for i > 0 && !s.tokens[i].opens {
		if s.tokens[i-1].has&conj != 0 && s.tokens[i-1].has&lead == 0 {
			i--
			break
		}
		i--
	}
	return s.tokens[i].from
}
