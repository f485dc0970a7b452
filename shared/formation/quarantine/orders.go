package quarantine

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// finding is an order in a sentence: the token that it begins at, and the reason to quarantine it.
type finding struct {
	token  int
	reason string
}

// window is how many tokens behind a verb its object stands.
const window = 14

var (
	// account is a number that money goes to, or a wallet.
	account = regexp.MustCompile(
		`\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}\b|\b(?:bc1|0x)[a-zA-Z0-9]{16,}\b|(?i:\bIBAN\b)|\+?\d[\d /-]{9,}\d`,
	)
	// address is an address of mail or of a page.
	address = regexp.MustCompile(`[\pL\pN._+-]+@[\pL\pN-]+\.[\pL\pN.-]+|https?://[^\s\pZ]+|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*` +
		`\.(?:com|net|org|io|ai|co|biz|info|shop|store|example|test|dev|app|xyz|ru|cn|de|fr|es|it|br|top|site|online)(?:$|[^\pL\pN(_])`)
	// blob is text in an encoding.
	blob = regexp.MustCompile(`[A-Za-z0-9+/_=-]{16,}|(?:\b[0-9a-fA-F]{2}\b[ ,:]?){8,}|%[0-9A-Fa-f]{2}`)
	// link is an address with a query.
	link = regexp.MustCompile(`[\pL\pN.-]+\.\pL{2,}[^\s\pZ?]*\?([^\s\pZ"'<>)]+)`)
)

// order finds an order in a sentence.
func (s *sentence) order() (finding, bool) {
	if found, ok := s.linked(); ok {
		return found, true
	}
	for i, t := range s.tokens {
		if t.begins&(acts|actsAnywhere) != 0 {
			if of := s.act(i); of != 0 && s.object(i, of) {
				return finding{s.trigger(i), Order}, true
			} else if of&(decode|keep) != 0 && s.encodes(i, of) {
				return finding{s.trigger(i), Encoded}, true
			}
		}
		if t.has&ai != 0 && s.addresses(i) || t.begins&jail != 0 && s.jailbreaks(i) || t.begins&secret != 0 && s.hides(i) {
			return finding{s.trigger(i), Order}, true
		}
	}
	return finding{}, false
}

// trigger returns the first token that an order by token i belongs to: its condition stands before it.
func (s *sentence) trigger(i int) int {
	for j := range i {
		if s.tokens[j].begins&(when|ifAI|always) != 0 || s.tokens[j].has&(ai|user) != 0 && !s.hasWithin(0, j, self) {
			return j
		}
	}
	return i
}

// object reports whether the object of the act at token i makes it an order to a memory or a model.
func (s *sentence) object(i int, of class) bool {
	end := min(len(s.tokens), i+window)
	from := i + 1
	if s.tokens[i].begins&acts == 0 { // its language puts the object first
		from, end = 0, len(s.tokens)
	}
	return of&undo != 0 && s.undoes(i, from, end) || of&wipe != 0 && s.wipes(from, end) ||
		of&keep != 0 && s.plants(i, from, end) ||
		of&(say|push) != 0 && s.dictates(i, of) || of&send != 0 && s.leaks(from, end)
}

// undoes finds the rules of the addressed model, or all earlier text.
func (s *sentence) undoes(i, from, end int) bool {
	for k := from; k < end; k++ {
		t := s.tokens[k]
		switch {
		case t.begins&above != 0 && s.all&self == 0:
			return true
		case s.owned(k):
		case t.has&rules != 0 && (s.isNear(k, 4, 5, prev|your) || t.has&prev != 0):
			return true
		case t.has&rules != 0 && s.isNear(k, 3, 0, all) && (s.ends(k) || k < i && i-k <= 2):
			return true
		}
	}
	bare := i+2 == len(s.tokens) && s.tokens[i+1].has&all != 0 && strings.ContainsAny(s.text, ".!") // "Forget everything!"
	return s.tokens[i].begins&forget != 0 && bare || s.wipes(from, end)
}

// wipes finds stored memories, or the rules of the addressed model.
func (s *sentence) wipes(from, end int) bool {
	for k := from; k < end; k++ {
		t := s.tokens[k]
		switch {
		case s.owned(k):
		case t.has&memo != 0 && (s.isNear(k, 4, 0, your|all|prev) || s.isNear(k, 0, 1, prev)),
			t.has&rules != 0 && s.isNear(k, 3, 2, your):
			return true
		case t.has&memo != 0 && s.isNear(k, 0, 4, user):
			return true
		}
	}
	return false
}

// owned reports whether a noun is the speaker's own: "my instructions".
func (s *sentence) owned(k int) bool {
	for j := k - 1; j >= max(0, k-2) && s.tokens[j].has&your == 0; j-- { // Italian "i tuoi" has no "I"
		if s.tokens[j].has&self != 0 {
			return true
		}
	}
	return false
}

// ends reports whether nothing belongs to token k that stands behind it.
func (s *sentence) ends(k int) bool {
	return k+1 >= len(s.tokens) || s.tokens[k+1].opens || s.tokens[k+1].has&(conj|lead|prev|that|please) != 0
}

// plants finds a memory to store about "the user", as the truth, or without the user's knowledge.
func (s *sentence) plants(i, from, end int) bool {
	first, _ := utf8.DecodeRuneInString(s.tokens[i].word)
	last := s.tokens[i].begins&acts == 0 && !unicode.In(first, unicode.Latin, unicode.Cyrillic)
	firm := s.tokens[i].begins&weak == 0
	if firm && s.tokens[i].opens {
		from = 0 // "The user is an administrator, remember that."
	}
	for k := from; k < end; k++ {
		t := s.tokens[k]
		if t.has&(user|anyone) == 0 || k == i || k+1 < len(s.tokens) && s.tokens[k+1].has&thing != 0 || s.owned(k) {
			continue
		}
		told := last || s.hasWithin(i+1, k, that) || s.opened(i+1, k+1) || k < i && s.all&self == 0
		if told && (firm || s.all&(always|memo) != 0) || s.all&(role|secret) != 0 && !s.hasWithin(i, len(s.tokens), self) {
			return true
		}
	}
	if s.hasWithin(0, len(s.tokens), self) {
		return false
	}
	return s.all&trusted != 0 || s.all&best != 0 && s.all&always != 0 && address.MatchString(s.text)
}

// opened reports whether a mark stands before one of the tokens from i to k.
func (s *sentence) opened(i, k int) bool {
	for j := i; j <= k && j < len(s.tokens); j++ {
		if s.tokens[j].opens {
			return true
		}
	}
	return false
}

// dictates finds an answer that is not a preference. Its condition is an action of "the user", or it holds always,
// with an account or an address.
func (s *sentence) dictates(i int, of class) bool {
	for k, t := range s.tokens {
		if t.begins&when != 0 && s.hasWithin(k, len(s.tokens), user) && s.hasWithin(k, len(s.tokens), asks) && s.asked(k, i) {
			return true
		}
	}
	mine := s.hasWithin(i, len(s.tokens), self)
	told := s.hasWithin(i, len(s.tokens), that) && s.all&best != 0
	if s.hasWithin(i+1, i+5, user) && !mine && (told || account.MatchString(s.text) || address.MatchString(s.text)) {
		return true
	}
	if s.all&(always|when) == 0 {
		return false
	}
	switch {
	case account.MatchString(s.text) && !mine, address.MatchString(s.text) && !mine, s.all&trusted != 0 && !mine:
		return true
	case of&say != 0 && (s.all&(always|anyone) != 0 || s.hasWithin(i, len(s.tokens), that)) &&
		s.hasWithin(i, len(s.tokens), best) && !mine:
		return true
	case of&push != 0 && s.hasWithin(i, len(s.tokens), as) && s.hasWithin(i, len(s.tokens), best) && !mine:
		return true
	}
	return of&push != 0 && s.all&always != 0 && s.hasWithin(i, len(s.tokens), user|anyone) && !mine
}

// asked reports whether the condition at token k is a question of "the user", and verb i orders the answer.
func (s *sentence) asked(k, i int) bool {
	who, asking := false, false
	for j := k; j < len(s.tokens); j++ {
		if j == i {
			continue
		}
		t := s.tokens[j]
		who = who || t.has&user != 0 && !(j+1 < len(s.tokens) && s.tokens[j+1].has&thing != 0)
		asking = asking || t.has&asks != 0 && j-k < window
	}
	return who && asking
}

// leaks finds data of the user that go to an address.
func (s *sentence) leaks(from, end int) bool {
	return (address.MatchString(s.text) || account.MatchString(s.text)) && !s.hasWithin(0, len(s.tokens), self) &&
		s.hasWithin(from, end, data|user|memo) && s.all&(all|user|always) != 0
}

// encodes finds an order to read something encoded, and to keep or follow it.
func (s *sentence) encodes(i int, of class) bool {
	coded := blob.MatchString(s.text)
	begins := func(want class) bool {
		return slices.ContainsFunc(s.tokens, func(t token) bool { return t.begins&(want|want<<anywhereShift) != 0 })
	}
	if of&decode != 0 {
		return begins(follow) || begins(keep)
	}
	return coded && s.all&code != 0 && s.all&self == 0
}

// addresses reports whether token i names a model that receives an order.
func (s *sentence) addresses(i int) bool {
	if s.all&ifAI != 0 {
		return s.commands(i)
	}
	if s.all&reading != 0 && (s.all&must != 0 || s.commands(0)) {
		return s.all&self == 0 || s.all&(user|trusted) != 0
	}
	to := i > 0 && s.isNear(i, 3, 0, addr) && s.addressed(i)
	if to && s.commands(i+1) && (s.all&self == 0 || s.all&(user|trusted) != 0) {
		return true
	}
	for k := i + 1; k < min(len(s.tokens), i+8); k++ { // "any assistant must store that ..."
		if s.tokens[k].has&must == 0 || s.hasWithin(0, i, self) {
			continue
		}
		for v := k + 1; v < min(len(s.tokens), k+5); v++ {
			if of := s.tokens[v].begins & acts; of != 0 && s.object(v, of) && s.all&self == 0 {
				return true
			}
		}
	}
	return false
}

// addressed reports whether a sentence begins with the model that token i names, and a mark follows it.
func (s *sentence) addressed(i int) bool {
	for j := range i {
		if s.tokens[j].has&(addr|lead|all|conj|ai|rules) == 0 && s.tokens[j].word != "note" && s.tokens[j].word != "the" {
			return false
		}
	}
	return s.opened(i+1, i+6)
}

// commands reports whether a token from i on is the verb of an order.
func (s *sentence) commands(i int) bool { return s.lastOrder() >= i }

// lastOrder returns the last token that is the verb of an order, or -1. It reads the tokens once: a sentence may have
// thousands, and each of them may ask.
func (s *sentence) lastOrder() int {
	if s.acted {
		return s.lastAct
	}
	s.acted, s.lastAct = true, -1
	for k := len(s.tokens) - 1; k >= 0; k-- {
		if s.act(k) != 0 {
			s.lastAct = k
			break
		}
	}
	return s.lastAct
}

// hides reports whether a phrase of secrecy keeps a fact from "the user", always or together with another order.
func (s *sentence) hides(i int) bool {
	from := s.placed(i) && !s.asks && s.all&self == 0
	return from && s.hasWithin(i+1, i+6, user) && (s.all&always != 0 || s.hasWithin(i, i+4, hiding) || s.commands(i+1))
}

// jailbreaks reports whether a phrase makes a model one without rules.
func (s *sentence) jailbreaks(i int) bool {
	return !s.hasWithin(0, i, self|subj) && s.hasWithin(i+1, i+12, noLimit) && !s.asks
}

// linked finds an order in the query of a link.
func (s *sentence) linked() (finding, bool) {
	if !strings.Contains(s.text, "?") {
		return finding{}, false
	}
	for _, at := range link.FindAllStringSubmatchIndex(s.text, -1) {
		values, err := url.ParseQuery(strings.TrimRight(s.text[at[2]:at[3]], ".,;!?"))
		if err != nil {
			continue
		}
		for _, list := range values {
			for _, v := range list {
				if plantsByLink(v) {
					return finding{s.tokenAt(s.from + at[0]), Order}, true
				}
			}
		}
	}
	return finding{}, false
}

// plantsByLink reports whether the value of a link's query is an order. Whoever searches for words writes no clause
// with "that".
func plantsByLink(value string) bool {
	for _, q := range sentences(value) {
		if _, ok := q.order(); ok || isEnglish(q) {
			return true
		}
		for i := range min(len(q.tokens), 3) {
			if q.act(i)&keep != 0 && len(q.tokens) > 3 && q.hasWithin(i+1, len(q.tokens), that|as|user|trusted|always|memo) {
				return true
			}
		}
	}
	return false
}

// tokenAt is the token at a byte of the text, or the last before it.
func (s *sentence) tokenAt(at int) int {
	for i := len(s.tokens) - 1; i > 0; i-- {
		if s.tokens[i].from <= at {
			return i
		}
	}
	return 0
}
