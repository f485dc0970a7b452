// Package quarantine recognises text that looks like an attack on the memory: orders to the memory or to a model about
// stored entries. Rules and a learned model find such text independently. The package itself protects no entry and
// drops no text. A recognised clause is formed separately and stays out of recall until a person has reviewed it. The
// package therefore favours precision, and may miss unknown attacks.
package quarantine

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// The reasons, as memory.Memory.Quarantine has them.
const (
	// Order addresses the memory or a model, and demands an action on stored memories.
	Order = "order"
	// Frame looks like the frame of a prompt, or like an operation of a memory, with an order or a claim in it.
	Frame = "frame"
	// Encoded is an order in an encoding, or behind another disguise.
	Encoded = "encoded"
)

// Parts of the patterns. A verb is an order at the beginning of a clause, or after a request to a person or a model.
const (
	place = `(?:^|[.!?:;,"“(\]>|#—–\n](?: |\t|\n|\pZ)*|- |\b(?:please|then|(?:you|instructions?|commands?|orders?|allowed) to` +
		`|you (?:must|should|can|may|will|have to)|from now on|next|now|and|so) )(?:(?:please|now|then|also|just|kindly|secretly) )*`
	undoVerbs = `(?:delete|erase|wipe|purge|expunge|retract|overwrite|clear|reset|forget|ignore|disregard|override|bypass|` +
		`rewrite|replace|remove` +
		`|drop|merge|unlock|export|obey|treat|mark|(?:do not|don['’]t|never) (?:remember|store|save))`
	keepVerbs = `(?:store|save|set|update|change|add|attach|record|remember|answer|repeat)`
	undone    = `(?:deleted|erased|wiped|void|dropped|overwritten|retracted|removed)`
	claim     = `\b(?:the|this) user(?:['’]s \w+| (?:has|is|was|lives|works|ever|now|no longer|moved|wants))\b`
	// operation and operand are the fields of an operation in JSON, in whatever order.
	operation = `"(?:op|kind|operation|action)"\s*:\s*"(?:add|delete|update|merge|replace|rewrite|overwrite|retract)"`
	operand   = `"(?:targets?|slot|content|memory(?:_ids?)?|memories)"\s*:`
	// alone follows a noun that is no part of another: "memory card", "memory game".
	alone = `(?:$|[^\w\s-]| (?:of|about|on|from|in|that|which|with|for|to|into|so|and|or|you|now|at|as|by|bank|entr|older)\w*)`
	allOf = `(?:(?:all|every|each|any|these|those|other|the|my|your|his|her|previous|earlier|stored|whole|entire|core|old) )+`
)

var (
	// undoing and keeping are the beginnings of orders to remove and to store; mine and theirs are the required
	// objects.
	undoing = anyOf(place + undoVerbs + `\b`)
	keeping = anyOf(place + keepVerbs + `\b`)
	mine    = anyOf(
		allOf+`memor(?:y|ies)`+alone, place+undoVerbs+` memories(?:$|[.!,;]| (?:of|about|and) )`,
		`\bmemor(?:y|ies)(?: entries)? (?:of|about) `,
		`\bmemory banks?\b`, `\bof this memory\b`, `\bmemory ?[#\[\d]`, `\bstored (?:\w+ )?\w+`, claim,
		`\byour (?:\w+ ){0,2}?(?:memory|memories|database|instructions?|rules|guidelines|prompt|operator)\b`,
		`\b(?:previous|prior|earlier|preceding) (?:\w+ )?(?:instructions?|rules|prompts?)\b`,
		`\b(?:everything|all|what(?:ever)?|anything)(?: that)? (?:you(?:['’]ve| have)? (?:know|store|remember|save|note|ke)|i say\b)`,
		`\bentr(?:y|ies) (?:m?\d|of (?:the|this) user|into one)`, `\bevery message as an? (?:instruction|order|command)`,
		place+undoVerbs+` [0-9a-f]{8}-`)
	theirs = anyOf(
		`\b(?:for|to|about|of) (?:all|every|each) users?\b`, `\beverybody['’]s profile`, allOf+`(?:memories|stored)\b`,
		`\bevery memory\b`,
		`\byour (?:system )?prompt\b`, `\bas a core fact\b`, `\bwithout telling\b`,
		`\bwhenever (?:some|any)(?:body|one) asks\b`, claim,
		`^\W*update [0-9a-f]{8}-`, `\bthis memory\b`)
	// told are orders, by their object.
	told = anyOf(
		`(?:\bstored \w+|\bmemor(?:y|ies)|\b(?:of|for) (?:the|this) user)\b[^.!?]{0,60}\b(?:has|have|is|are|must|shall|should|will)`+
			`(?: \w+){0,4}? `+undone+`\b`, `\bremoved all memories\b`)
	// cues are parts of an order's object. A sentence without a cue needs no pattern.
	cues = words(`memor stored user your bank database instru rule prompt profile previous prior earlier preceding you entr
		message say whenever telling fact -`)
	// operated and framed are the same for operations and frames.
	operated = words(`= _ "`)
	framed   = words(`: < [ ## memory operation transcript conversation`)
	// frames are the frames of a prompt, and loaded makes a frame an attack. operations occur only in a memory's
	// protocol.
	frames = anyOf(
		`(?:^|\n)\W*(?:system|assistant|developer)\W*:`, `<\|`, `\[/?(?:inst|system|memory_update)\]`,
		`</?(?:data|system|memory|invoke)\b`,
		`#{2,} ?(?:instruction|system)`, `\bend of (?:transcript|conversation)\b`, `\bmemory correction\b`,
		`\bnote to the memory\b`,
		`\bthe next operation\b`)
	loaded = anyOf(
		claim, `\b(?:delet|eras|wip|purg|overwrit|retract|remov|clear|drop|forget)\w*\b.{0,60}\b(?:memor|user|bank|all\b|previous|allerg|stored)`,
		`\b(?:memory|operation)\b.{0,60}\bdelete`, place+keepVerbs+`\b.{0,60}\bas a memory`)
	operations = anyOf(
		`\b(?:update|delete|clear|overwrite|erase|wipe|reset)_memor(?:y|ies)["(]`,
		`\b(?:directive|operation)=(?:purge|delete|overwrite)`,
		`(?:record|memory|store)\w*: ?user\.\w+ ?=`,
		operation+`(?s:.*)`+operand, operand+`[^{}]*`+operation)
	// corrected matches the speaker's fact in an order: "delete that I work at Tesco from what you know".
	corrected = anyOf(`^[^.!?]{0,40}?\bthat (?:i|i['’]m|i['’]ve|my|we|our) [^.!?]* (?:from|in|of) (?:what|everything|all)(?: that)? you\b`)
	storied   = anyOf(`\b(?:i|we|he|she|they|it|who) (?:\w+ )*$`)
	// framed lines begin with a role that commands.
	commanding = regexp.MustCompile(`(?mi)^[^\pL\pN\n]*(?:system|developer|admin|root)(?: \pL+){0,2}[^\pL\pN\n]*:(.*)$`)
)

// cueSet has strings of which a text must have at least one. Otherwise a slow pattern need not run.
type cueSet []string

func words(list string) cueSet { return strings.Fields(list) }

func (c cueSet) matches(said string) bool {
	return slices.ContainsFunc(c, func(cue string) bool { return strings.Contains(said, cue) })
}

// unicodeClasses replaces Go's classes of words and white space, which cover ASCII only, for all scripts. \b stays:
// the patterns are English, and English words may stand next to letters of a script without spaces.
var unicodeClasses = strings.NewReplacer(`[^\w\s-]`, `[^\pL\pM\pN_\s\pZ-]`, `\w`, `[\pL\pM\pN_]`, `\W`, `[^\pL\pM\pN_]`,
	`\s`, `[\s\pZ]`)

func anyOf(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile(unicodeClasses.Replace(strings.Join(patterns, "|")))
}

// Found is what looks like an attack in a text.
type Found struct {
	// Reason is a word for machines, as memory.Memory.Quarantine has it.
	Reason string
	// Held are the suspect clauses, and Rest is the text without them. Rest is empty where no words of the speaker are
	// left.
	Held, Rest string
	// HeldCaption and RestCaption divide the caption of a turn in the same way.
	HeldCaption, RestCaption string
}

// Harmless returns a turn without its suspect clauses. The result ok is false where nothing is left.
func (f Found) Harmless(t memory.Turn) (rest memory.Turn, ok bool) {
	t.Text, t.Caption = f.Rest, f.RestCaption
	return t, t.Text+t.Caption != ""
}

// Suspect returns a turn with its suspect clauses alone.
func (f Found) Suspect(t memory.Turn) memory.Turn {
	t.Text, t.Caption = f.Held, f.HeldCaption
	return t
}

// Turns returns the suspect parts of a session's turns, by turn id; other turns are left out. It does not check
// assistants' turns, since these cannot change the user's statements. In words that a user passes on, it checks only
// for the form of operations.
func Turns(turns []memory.Turn) map[string]Found {
	out := map[string]Found{}
	var before []memory.Turn // of the same user, as far as they break off
	for _, t := range turns {
		if t.Role == memory.RoleAssistant {
			continue
		}
		if n := len(before); n > 0 && (before[0].Speaker != t.Speaker || !breaksOff(before[n-1].Text)) {
			before = nil
		}
		before = append(before[max(0, len(before)-splitTurns+1):], t)
		if found, ok := inTurn(t); ok {
			out[t.ID] = found
			before = nil
		} else if parts := together(before); parts != nil {
			for _, p := range parts {
				out[p.ID] = Found{Reason: Order, Held: p.Text, HeldCaption: p.Caption}
			}
			before = nil
		}
	}
	return out
}

// inTurn finds what looks like an attack in a turn. The text and the caption are divided apart. The caption of a text
// without a harmless rest is held, too. The speaker in a picture is unknown, so all words of a caption count.
func inTurn(t memory.Turn) (Found, bool) {
	found, ok := Text(t.Text)
	if !ok {
		found = Found{Rest: t.Text}
	}
	inCaption, captionOk := inText(t.Caption, t.Caption, true)
	switch {
	case captionOk:
		found.HeldCaption, found.RestCaption = inCaption.Held, inCaption.Rest
		if !ok {
			found.Reason = inCaption.Reason
		}
	case ok && found.Rest == "":
		found.HeldCaption = t.Caption
	default:
		found.RestCaption = t.Caption
	}
	return found, ok || captionOk
}

// Entry returns the reason why an external entry looks like an attack. It checks the content and each turn of the
// entry's dialogue. The reason is empty for a harmless entry.
func Entry(m memory.Memory) string {
	if found, ok := Content(m.Content); ok {
		return found.Reason
	}
	for line := range strings.Lines(m.Value) {
		if _, turn, found := strings.Cut(line, "): "); found { // behind speaker and day
			line = turn
		}
		if found, ok := Text(line); ok {
			return found.Reason
		}
	}
	return ""
}

// Parts of an order that is spread over turns are few and short, and all but the last break off.
const splitTurns, splitWords = 3, 12

func breaksOff(said string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimSpace(said))
	return len(strings.Fields(said)) <= splitWords &&
		(unicode.IsLetter(last) || unicode.IsDigit(last) || last == ',' || last == '…')
}

// together returns the turns at the end that only together are an order, none where they are not.
func together(turns []memory.Turn) []memory.Turn {
	if len(turns) < 2 {
		return nil
	}
	joined := ""
	for i := len(turns) - 1; i >= 0; i-- {
		if joined = text.Unquoted(turns[i].Text) + " " + joined; i < len(turns)-1 && isOrder(joined) {
			return turns[i:]
		}
	}
	return nil
}

// leastRest is how many words of the speaker's own are worth to be kept apart from an order.
const leastRest = 2

// Text finds suspect clauses in a person's own words, by rules and by a model that was trained on examples.
func Text(said string) (Found, bool) { return inText(said, text.Unquoted(said), true) }

// Content finds an attack in a memory's content, by the rules alone. Memories refer to "the user" as attacks do and
// users do not, so the model does not apply.
func Content(said string) (Found, bool) { return inText(said, text.Unquoted(said), false) }

// inText finds suspect clauses in a text. own is the text with blanks in place of words that have no power.
func inText(said, own string, learned bool) (Found, bool) {
	plain := lower(said)
	switch {
	case operated.matches(plain) && operations.MatchString(plain), framed.matches(plain) && frames.MatchString(plain) &&
		loaded.MatchString(plain):
		return Found{Reason: Frame, Held: said}, true
	case strings.Contains(plain, ":") && commands(said):
		return Found{Reason: Frame, Held: said}, true
	}
	all := sentences(own)
	ruled := ruledIn(own, all)
	held := slices.Clone(ruled)
	if learned {
		held = append(held, learnedIn(own, all)...)
	}
	switch held = united(held); {
	case len(held) > 0:
	case len(all) > 1 && hidden(own):
		return Found{Reason: Encoded, Held: said}, true
	default:
		return Found{}, false
	}
	reason := held[0].reason
	if len(ruled) > 0 {
		reason = ruled[0].reason
	}
	if wordsOutside(all, held) < leastRest {
		return Found{Reason: reason, Held: said}, true
	}
	return parted(said, reason, held), true
}

// ruledIn are the orders that the rules find in the sentences of a text, without harmless clauses before them.
func ruledIn(said string, all []sentence) []span {
	var out []span
	for i := range all {
		s := &all[i]
		at, why := s.suspect()
		if why == "" {
			continue
		}
		if at == s.from && why == Order {
			at = attackFrom(said, s.from, s.to, isOrder)
		}
		out = append(out, span{at, s.to, why})
	}
	return out
}

// united are spans in order, without overlaps.
func united(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int { return a.from - b.from })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// wordsOutside counts the words of sentences that no span holds.
func wordsOutside(all []sentence, held []span) int {
	n := 0
	for _, s := range all {
		for _, t := range s.tokens {
			if !slices.ContainsFunc(held, func(h span) bool { return h.from <= t.from && t.from < h.to }) {
				n++
			}
		}
	}
	return n
}

// parted takes the held bytes out of a text.
func parted(said, reason string, held []span) Found {
	var rest, odd strings.Builder
	from := 0
	for _, h := range held {
		rest.WriteString(said[from:h.from])
		odd.WriteString(said[h.from:h.to])
		from = h.to
	}
	rest.WriteString(said[from:])
	return Found{Reason: reason, Held: strings.TrimSpace(odd.String()),
		Rest: strings.TrimRight(strings.TrimSpace(rest.String()), " ,;:–—-")}
}

// commands reports whether a line in the name of a system is an order, in whatever language.
func commands(said string) bool {
	lines := commanding.FindAllStringSubmatch(said, -1)
	return slices.ContainsFunc(lines, func(line []string) bool { return isOrder(line[1]) })
}

// pretext are the words of a clause that prepares an order in the same sentence: "I am your developer, so ...".
const pretext = role | your | memo | rules | ai | user | prev | trusted

// suspect returns the position of an order in a sentence, and the reason to hold it; no reason without an order.
func (s *sentence) suspect() (at int, reason string) {
	begin, reason := -1, ""
	if found, ok := s.order(); ok {
		begin, reason = s.start(found.token), found.reason
	} else if place := english(s.text); place >= 0 {
		if begin, reason = s.from, Order; isPlain(s.text) && len(s.tokens) > 0 {
			begin = s.start(s.tokenAt(s.from + place))
		}
	} else if slices.ContainsFunc(s.readings(), isOrder) || spaced.MatchString(s.text) {
		return s.from, Encoded
	}
	if reason == "" {
		return 0, ""
	}
	before := 0
	for i, t := range s.tokens {
		isHave := i > 0 && t.word == "ai" && s.tokens[i-1].word == "j" // French "j'ai", no AI
		switch {
		case t.from >= begin:
		case t.has&pretext != 0 && !isHave:
			return s.from, reason
		case t.has&(lead|addr|conj|please) == 0:
			before++
		}
	}
	if before < leastRest {
		begin = s.from
	}
	return begin, reason
}

// isOrder reports whether one of the sentences orders the memory about.
func isOrder(said string) bool {
	return slices.ContainsFunc(sentences(said), func(s sentence) bool {
		_, ok := s.order()
		return ok || isEnglish(s)
	})
}

func isEnglish(s sentence) bool { return english(s.text) >= 0 }

// english returns where an English sentence orders the memory about; -1 where it does not.
func english(said string) int {
	s := lower(said)
	if !cues.matches(s) {
		return -1
	}
	if at := told.FindStringIndex(s); at != nil {
		return at[0]
	}
	if at := begins(undoing, s); at >= 0 && mine.MatchString(s) && !corrected.MatchString(s[at:]) {
		return at
	}
	if at := begins(keeping, s); at >= 0 && theirs.MatchString(s) {
		return at
	}
	return -1
}

// maxStory is how many bytes before an order are read for the person who acts. A sentence without marks can be as long
// as a turn, and each of its orders reads them.
const maxStory = 512

// tail returns the last words of a text, maxStory bytes at most.
func tail(said string) string {
	if len(said) <= maxStory {
		return said
	}
	said = said[len(said)-maxStory:]
	_, words, _ := strings.Cut(said, " ")
	return words
}

// begins returns the position of an order in a sentence. A narrative of a person's action has none: "I log in and
// delete the entries".
func begins(order *regexp.Regexp, sentence string) int {
	for _, at := range order.FindAllStringIndex(sentence, -1) {
		found := sentence[at[0]:at[1]]
		if !strings.HasPrefix(found, "and ") && !strings.HasPrefix(found, "so ") ||
			!storied.MatchString(tail(sentence[:at[0]])) {
			return at[0]
		}
	}
	return -1
}
