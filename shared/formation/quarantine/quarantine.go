// Package quarantine recognises what looks like an attack on the memory: orders to the memory or to a model about what is remembered.
// It protects nothing by itself and drops nothing: what it recognises is formed apart and kept out of recall until somebody has
// looked at it. It is therefore made to be right when it speaks, and may miss what it does not know.
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
	// Order addresses the memory, or a model, and says what to do with what is remembered.
	Order = "order"
	// Frame looks like the frame of a prompt, or like an operation of a memory, with an order or a claim in it.
	Frame = "frame"
	// Encoded is an order in an encoding, or behind another disguise.
	Encoded = "encoded"
)

// Parts of the patterns. A verb is an order where a clause begins with it, or where somebody is told or asked to.
const (
	place = `(?:^|[.!?:;,"“(\]>|#—–\n]\s*|- |\b(?:please|then|(?:you|instructions?|commands?|orders?|allowed) to` +
		`|you (?:must|should|can|may|will|have to)|from now on|next|now|and|so) )(?:(?:please|now|then|also|just|kindly|secretly) )*`
	undo = `(?:delete|erase|wipe|purge|expunge|retract|overwrite|clear|reset|forget|ignore|disregard|override|bypass|rewrite|replace|remove` +
		`|drop|merge|unlock|export|obey|treat|mark|(?:do not|don['’]t|never) (?:remember|store|save))`
	keep   = `(?:store|save|set|update|change|add|attach|record|remember|answer|repeat)`
	undone = `(?:deleted|erased|wiped|void|dropped|overwritten|retracted|removed)`
	claim  = `\b(?:the|this) user(?:['’]s \w+| (?:has|is|was|lives|works|ever|now|no longer|moved|wants))\b`
	// operation and operand are the fields of an operation in JSON, in whatever order.
	operation = `"(?:op|kind|operation|action)"\s*:\s*"(?:add|delete|update|merge|replace|rewrite|overwrite|retract)"`
	operand   = `"(?:targets?|slot|content|memory(?:_ids?)?|memories)"\s*:`
	// alone follows a noun that is no part of another: "memory card", "memory game".
	alone = `(?:$|[^\w\s-]| (?:of|about|on|from|in|that|which|with|for|to|into|so|and|or|you|now|at|as|by|bank|entr|older)\w*)`
	all   = `(?:(?:all|every|each|any|these|those|other|the|my|your|his|her|previous|earlier|stored|whole|entire|core|old) )+`
)

var (
	// undoing and keeping are what begins orders to take away, and to put in; mine and theirs are what they must speak of.
	undoing = anyOf(place + undo + `\b`)
	keeping = anyOf(place + keep + `\b`)
	mine    = anyOf(
		all+`memor(?:y|ies)`+alone, place+undo+` memories(?:$|[.!,;]| (?:of|about|and) )`, `\bmemor(?:y|ies)(?: entries)? (?:of|about) `,
		`\bmemory banks?\b`, `\bof this memory\b`, `\bmemory ?[#\[\d]`, `\bstored (?:\w+ )?\w+`, claim,
		`\byour (?:\w+ ){0,2}?(?:memory|memories|database|instructions?|rules|guidelines|prompt|operator)\b`,
		`\b(?:previous|prior|earlier|preceding) (?:\w+ )?(?:instructions?|rules|prompts?)\b`,
		`\b(?:everything|all|what(?:ever)?|anything)(?: that)? (?:you(?:['’]ve| have)? (?:know|store|remember|save|note|ke)|i say\b)`,
		`\bentr(?:y|ies) (?:m?\d|of (?:the|this) user|into one)`, `\bevery message as an? (?:instruction|order|command)`,
		place+undo+` [0-9a-f]{8}-`)
	theirs = anyOf(
		`\b(?:for|to|about|of) (?:all|every|each) users?\b`, `\beverybody['’]s profile`, all+`(?:memories|stored)\b`, `\bevery memory\b`,
		`\byour (?:system )?prompt\b`, `\bas a core fact\b`, `\bwithout telling\b`, `\bwhenever (?:some|any)(?:body|one) asks\b`, claim,
		`^\W*update [0-9a-f]{8}-`, `\bthis memory\b`)
	// told are orders by what they speak of, and those of other languages.
	told = anyOf(
		`(?:\bstored \w+|\bmemor(?:y|ies)|\b(?:of|for) (?:the|this) user)\b[^.!?]{0,60}\b(?:has|have|is|are|must|shall|should|will)`+
			`(?: \w+){0,4}? `+undone+`\b`, `\bremoved all memories\b`,
		`(?:ignoriere|missachte|vergiss)\b.{0,60}(?:anweisungen|regeln)`, `(?:lösche|überschreibe|vergiss)\b.{0,40}(?:erinnerungen|gedächtnis)`,
		`\b(?:ignore|ignorez|oublie|oubliez) (?:toutes |tes |vos |les )+(?:\pL+ )?(?:instructions|consignes|règles)`,
		`\b(?:efface|effacez|supprime|supprimez)\b.{0,40}\b(?:souvenirs|mémoire)`,
		`\b(?:ignora|ignore|olvida|esquece|dimentica)\b.{0,60}\b(?:instrucciones|instruções|istruzioni|reglas|regole)`,
		`\b(?:borra|elimina|apaga|apague|cancella)\b.{0,40}\b(?:recuerdos|memorias|memórias|ricordi)\b`,
		`\b(?:negeer|vergeet)\b.{0,60}\binstructies`, `\b(?:wis|verwijder)\b.{0,40}\b(?:herinneringen|geheugen)`,
		`\b(?:ignorera|radera)\b.{0,60}\b(?:instruktioner|minnen)`, `\b(?:zignoruj|usuń)\b.{0,60}(?:instrukcje|wspomnienia)`,
		`(?:talimatları|anıları).{0,40}(?:yok say|sil)`, `(?:игнорируй|забудь).{0,60}(?:инструкции|правила)`,
		`(?:удали|сотри).{0,40}(?:воспоминания|память)`, `忽略.{0,12}(?:指令|指示)`, `删除.{0,16}(?:记忆|回忆)`, `指示.{0,12}無視`, `記憶.{0,12}削除`,
		`지시.{0,12}무시`, `기억.{0,12}삭제`, `تجاهل.{0,20}التعليمات`, `احذف.{0,20}ذكريات`)
	// cues are parts of what an order speaks of: a sentence has one, or no pattern is tried on it.
	cues = words(`memor stored user your bank database instru rule prompt profile previous prior earlier preceding you entr
		message say whenever telling fact - anweisung regeln erinnerung gedächtnis istruz consign règle souvenir mémoire reglas regole
		recuerdo memória ricordi herinner geheugen minnen wspomn talimat anıları инструк правил воспомин память 指 忆 憶 지시 기억
		التعليمات ذكريات`)
	// operated and framed are the same for operations and frames.
	operated = words(`= _ "`)
	framed   = words(`: < [ ## memory operation transcript conversation`)
	// frames are what a prompt is framed with, loaded what makes one of them an attack; operations are what only a memory's protocol has.
	frames = anyOf(
		`(?:^|\n)\W*(?:system|assistant|developer)\W*:`, `<\|`, `\[/?(?:inst|system|memory_update)\]`, `</?(?:data|system|memory|invoke)\b`,
		`#{2,} ?(?:instruction|system)`, `\bend of (?:transcript|conversation)\b`, `\bmemory correction\b`, `\bnote to the memory\b`,
		`\bthe next operation\b`)
	loaded = anyOf(
		claim, `\b(?:delet|eras|wip|purg|overwrit|retract|remov|clear|drop|forget)\w*\b.{0,60}\b(?:memor|user|bank|all\b|previous|allerg|stored)`,
		`\b(?:memory|operation)\b.{0,60}\bdelete`, place+keep+`\b.{0,60}\bas a memory`)
	operations = anyOf(
		`\b(?:update|delete|clear|overwrite|erase|wipe|reset)_memor(?:y|ies)["(]`, `\b(?:directive|operation)=(?:purge|delete|overwrite)`,
		`(?:record|memory|store)\w*: ?user\.\w+ ?=`,
		operation+`(?s:.*)`+operand, operand+`[^{}]*`+operation)
	sentences = regexp.MustCompile(`[^.!?。！？\n]+`)
	storied   = regexp.MustCompile(`\b(?:i|we|he|she|they|it|who) (?:\w+ )*$`)
)

// cueSet are strings of which a text has one, or a pattern that takes long need not be tried on it.
type cueSet []string

func words(list string) cueSet { return strings.Fields(list) }

func (c cueSet) in(said string) bool {
	return slices.ContainsFunc(c, func(cue string) bool { return strings.Contains(said, cue) })
}

func anyOf(patterns ...string) *regexp.Regexp { return regexp.MustCompile(strings.Join(patterns, "|")) }

// Turns returns why the turns of a session look like an attack, by their ids; those that do not are left out. What assistants say
// is not looked at: it has no power over what users told. Of what a user passes on of others, only the form of operations is.
func Turns(turns []memory.Turn) map[string]string {
	out := map[string]string{}
	var before []memory.Turn // of the same user, as far as they break off
	for _, t := range turns {
		if t.Role == memory.RoleAssistant {
			continue
		}
		if n := len(before); n > 0 && (before[0].Speaker != t.Speaker || !breaksOff(before[n-1].Text)) {
			before = nil
		}
		before = append(before[max(0, len(before)-splitTurns+1):], t)
		if why := reasonOf(t.Text + "\n" + t.Caption); why != "" {
			out[t.ID] = why
			before = nil
		} else if parts := together(before); parts != nil {
			for _, p := range parts {
				out[p.ID] = Order
			}
			before = nil
		}
	}
	return out
}

// Entry returns why an entry that came in ready-made looks like an attack, by its content and each turn of the dialogue behind it; empty
// where it does not.
func Entry(m memory.Memory) string {
	said := []string{m.Content}
	for line := range strings.Lines(m.Value) {
		if _, turn, found := strings.Cut(line, "): "); found { // behind speaker and day
			line = turn
		}
		said = append(said, line)
	}
	for _, s := range said {
		if why := reasonOf(s); why != "" {
			return why
		}
	}
	return ""
}

// Parts of an order that is spread over turns are few and short, and all but the last break off.
const splitTurns, splitWords = 3, 12

func breaksOff(said string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimSpace(said))
	return len(strings.Fields(said)) <= splitWords && (unicode.IsLetter(last) || unicode.IsDigit(last) || last == ',' || last == '…')
}

// together returns the turns at the end that only together are an order, none where they are not.
func together(turns []memory.Turn) []memory.Turn {
	joined := ""
	for i := len(turns) - 1; i >= 0; i-- {
		own, _ := text.Voices(turns[i].Text)
		if joined = own + " " + joined; i < len(turns)-1 && isOrder(joined) {
			return turns[i:]
		}
	}
	return nil
}

func reasonOf(said string) string {
	own, _ := text.Voices(said)
	plain := lower(said)
	switch {
	case operated.in(plain) && operations.MatchString(plain), framed.in(plain) && frames.MatchString(plain) && loaded.MatchString(plain):
		return Frame
	case isOrder(own):
		return Order
	case hidden(own):
		return Encoded
	}
	return ""
}

// isOrder reports whether one of the sentences orders the memory about.
func isOrder(said string) bool {
	for _, s := range sentences.FindAllString(lower(said), -1) {
		if !cues.in(s) {
			continue
		}
		if told.MatchString(s) || begins(undoing, s) && mine.MatchString(s) || begins(keeping, s) && theirs.MatchString(s) {
			return true
		}
	}
	return false
}

// begins reports whether an order begins in a sentence that is no tale of what somebody does: "I log in and delete the entries".
func begins(order *regexp.Regexp, sentence string) bool {
	for _, at := range order.FindAllStringIndex(sentence, -1) {
		found := sentence[at[0]:at[1]]
		if !strings.HasPrefix(found, "and ") && !strings.HasPrefix(found, "so ") || !storied.MatchString(sentence[:at[0]]) {
			return true
		}
	}
	return false
}
