package quarantine

import (
	_ "embed" // the lexicon is part of the program
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is a set of kinds of words that orders are made of; lexicon.txt has the words of each.
type class uint64

const (
	undo class = 1 << iota
	wipe
	keep
	say
	push
	send
	decode
	follow
	undoAnywhere
	wipeAnywhere
	keepAnywhere
	sayAnywhere
	pushAnywhere
	sendAnywhere
	decodeAnywhere
	followAnywhere
	forget
	lead
	conj
	subj
	self
	rules
	memo
	user
	ai
	prev
	your
	all
	above
	always
	when
	asks
	anyone
	must
	reading
	ifAI
	addr
	secret
	role
	jail
	noLimit
	trusted
	best
	that
	data
	code
	thing
	please
	as
	header
	hiding
	void
	weak
	none
	own
	person
	others
	reveal
	permit
	later
	chief
	praise
	money
)

// acts are the verbs of orders; verbs of the second set may stand anywhere in a clause.
const (
	acts         = undo | wipe | keep | say | push | send | decode | follow
	actsAnywhere = undoAnywhere | wipeAnywhere | keepAnywhere | sayAnywhere | pushAnywhere | sendAnywhere |
		decodeAnywhere | followAnywhere
)

var classes = map[string]class{
	"undo": undo, "wipe": wipe, "forget": forget, "keep": keep, "say": say, "push": push, "send": send,
	"decode": decode, "follow": follow, "undo~": undoAnywhere, "wipe~": wipeAnywhere, "keep~": keepAnywhere,
	"say~": sayAnywhere, "push~": pushAnywhere, "send~": sendAnywhere, "decode~": decodeAnywhere,
	"follow~": followAnywhere, "lead": lead, "conj": conj, "subj": subj, "self": self, "rules": rules,
	"memo": memo, "user": user, "ai": ai, "prev": prev, "your": your, "all": all, "above": above, "always": always,
	"when": when, "asks": asks, "anyone": anyone, "must": must, "reading": reading, "ifai": ifAI, "addr": addr,
	"secret": secret, "role": role, "jail": jail, "nolimit": noLimit, "trusted": trusted, "best": best,
	"that": that, "data": data, "code": code, "thing": thing, "please": please, "as": as, "header": header,
	"hiding": hiding, "void": void, "weak": weak, "none": none, "own": own, "person": person, "others": others,
	"reveal": reveal, "permit": permit, "later": later, "chief": chief, "praise": praise, "money": money,
}

//go:embed lexicon.txt
var lexiconText string

// entry is the rest of an expression behind its first word.
type entry struct {
	rest  []string
	class class
}

// lexicon finds expressions by their first word. A word that ends with "*" stands for all words that begin so.
type lexicon struct {
	exact, prefix map[string][]entry
	// unspaced are expressions in scripts without spaces, the longest has maxUnspaced characters.
	unspaced    map[string]class
	maxUnspaced int
}

var shipped = sync.OnceValue(func() *lexicon {
	l := &lexicon{exact: map[string][]entry{}, prefix: map[string][]entry{}, unspaced: map[string]class{}}
	for line := range strings.Lines(lexiconText) {
		name, entries, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		of, known := classes[name]
		if !known {
			panic(fmt.Sprintf("the lexicon has an unknown class %q", name))
		}
		for e := range strings.SplitSeq(entries, "|") {
			l.add(strings.TrimSpace(e), of)
		}
	}
	return l
})

func (l *lexicon) add(expression string, of class) {
	words := strings.Fields(expression)
	for i, w := range words {
		stem, open := strings.CutSuffix(w, "*")
		if words[i] = fold(stem); open {
			words[i] += "*"
		}
	}
	first, _ := utf8.DecodeRuneInString(words[0])
	stem, open := strings.CutSuffix(words[0], "*")
	switch {
	case len(words) == 1 && unspaced(first):
		l.unspaced[stem] |= of
		l.maxUnspaced = max(l.maxUnspaced, utf8.RuneCountInString(stem))
	case open:
		l.prefix[stem] = append(l.prefix[stem], entry{words[1:], of})
	default:
		l.exact[stem] = append(l.exact[stem], entry{words[1:], of})
	}
}

// mark sets the classes of all expressions that begin at a token.
func (l *lexicon) mark(tokens []token, i int) {
	word := tokens[i].word
	for _, e := range l.exact[word] {
		e.mark(tokens[i:])
	}
	for at := range word {
		if at >= leastPrefix {
			for _, e := range l.prefix[word[:at]] {
				e.mark(tokens[i:])
			}
		}
	}
	for _, e := range l.prefix[word] {
		e.mark(tokens[i:])
	}
}

// leastPrefix is how many bytes the shortest prefix of the lexicon has.
const leastPrefix = 3

func (e entry) mark(tokens []token) {
	if len(e.rest) >= len(tokens) {
		return
	}
	for k, want := range e.rest {
		got := tokens[k+1]
		if stem, open := strings.CutSuffix(want, "*"); got.opens ||
			got.word != want && !(open && strings.HasPrefix(got.word, stem)) {
			return
		}
	}
	tokens[0].begins |= e.class
	for k := range len(e.rest) + 1 {
		tokens[k].has |= e.class
		tokens[k].phrase = tokens[k].phrase || len(e.rest) > 0 && e.class == lead
	}
}

// longest is the longest expression at the beginning of characters of a script without spaces; none has no characters.
func (l *lexicon) longest(runes []rune) (n int, of class) {
	for n = min(l.maxUnspaced, len(runes)); n > 0; n-- {
		if of, ok := l.unspaced[string(runes[:n])]; ok {
			return n, of
		}
	}
	return 0, 0
}

// unspaced reports whether a letter is of a script that does not part words.
func unspaced(r rune) bool {
	return r > unicode.MaxLatin1 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) ||
		r == 'ー')
}
