package embedded

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// mostBefore is the number of turns before a turn that its pronouns may point to.
const mostBefore = 6

// earlier returns the turns before turn i, the newest first, with the turns that a gate dropped. Of turns of one time
// and place, it takes the formed one first.
func earlier(in formation.Session, i int) []before {
	var out []before
	for _, t := range slices.Backward(in.Turns[max(0, i-mostBefore):i]) {
		out = append(out, before{Turn: t, formed: true})
	}
	for _, t := range slices.Backward(in.Context) {
		if t.Compare(in.Turns[i]) <= 0 {
			out = append(out, before{Turn: t})
		}
	}
	slices.SortStableFunc(out, func(a, b before) int { return b.Compare(a.Turn) })
	return out[:min(len(out), mostBefore)]
}

// newest returns the turn before another, or nil for the first.
func newest(turns []before) *before {
	if len(turns) == 0 {
		return nil
	}
	return &turns[0]
}

// refer puts the person or thing that a clause's pronoun stands for before the clause: "[about: My aunt Rosa] She is
// 70". behind is the turn's text before the clause. The only candidate must be in it, or else in the speaker's turns
// before. joins reports a clause that needs the clause before it instead.
func refer(q quotation, behind string, turns []before, speaker string) (out quotation, joins bool) {
	pronoun := text.Pronoun(q.said)
	if pronoun == "" {
		if pronoun = text.ObjectPronoun(q.said); pronoun == "" || behind == "" {
			return q, false
		}
	}
	if found := mentionsOf(behind, pronoun); len(found) == 1 && !strings.HasPrefix(pronoun, "they") {
		q.said = text.About(found[0], q.said)
		return q, false
	} else if behind != "" {
		return q, true
	}
	for _, b := range turns {
		found := mentionsOf(text.Printable(b.Text), pronoun)
		if own := b.Role != memory.RoleAssistant && b.Speaker == speaker; len(found) > 1 || len(found) > 0 && !own {
			break // it may be the person of the other speaker
		} else if len(found) > 0 {
			q.said = text.About(found[0], q.said)
			q.sources = b.addTo(q.sources)
			return q, false
		}
	}
	return q, true
}

// referTo refers a clause behind the quotations of its turn. A clause about a person who is not known is talk, unless
// it joins the quotation before it.
func (f *Former) referTo(q quotation, leans bool, out []quotation, turns []before, speaker string) (quotation, bool) {
	if q.foreign || strings.HasPrefix(q.said, "[") {
		return q, leans
	}
	behind := ""
	for _, o := range out {
		behind += o.said + " "
	}
	pronoun, n := text.Pronoun(q.said), len(out)-1
	q, joins := refer(q, behind, turns, speaker)
	if strings.HasPrefix(q.said, "[") {
		return q, false
	}
	unknown := joins && text.IsPerson(pronoun) || f.dangles(q.said)
	if unknown && n >= 0 && out[n].explains(q) {
		out[n].tier = q.tier
	}
	if unknown && f.read != nil && (n < 0 || out[n].tier != q.tier || out[n].foreign) {
		q.tier, q.kind = memory.TierTalk, ""
	}
	return q, joins || leans || unknown
}

// mostExplained is the number of words of a memory with the statement that explains its thing.
const mostExplained = 40

// explains reports whether a quotation of talk is a statement that may name the thing of a memory behind it.
func (q quotation) explains(next quotation) bool {
	return q.tier == memory.TierTalk && next.tier == memory.TierMemory && !q.foreign && !q.asks &&
		!strings.HasPrefix(q.said, "[") &&
		contentOf(q.said) >= fewStems && !isPolite(q.said) && !isTask(q.said) && q.words()+next.words() <= mostExplained
}

// dangling matches a statement about a thing that only its pronoun names: "It's a 1969 coupé", "I've finished it in
// May". In "it's my birthday", the words behind it name it.
var dangling = regexp.MustCompile(`(?i)^(?:it|they|that|those|these|this) (?:is|are|was|were|has|have|had|will|would|can|could|should|may|might)\b` +
	`|^(?:it|that|they)['’](?:s|re|ve|ll|d)\b` +
	`|^(?:i|we)(?:['’]\pL+)?(?: [\pL'’]+){1,3} (?:it|them|those)\b`)

// atThing matches a thing of the talk that only its place names: "this song", "these 3 idioms", "stick with it".
var atThing = regexp.MustCompile(`(?i)^((?:i|we|my|our)\b[^.!?,;:]*?) ` +
	`(?:(?:it|them|those)(?:[.!?]?$| (?:by|for|with|since|until|every|all|so|again|too|now|consistently|regularly)\b)` +
	`|(?:this|these) (?:\d+ |new |same |last |first )?(\pL{3,}))`)

// servesMe matches a statement without its subject: "keeps me organised".
var servesMe = regexp.MustCompile(`(?i)^\pL+s (?:me|us)\b`)

// timed are nouns behind "this" and "these" that need no words before them, and sorts of things.
var timed = text.WordSet(`day days week weeks month months year years morning afternoon evening night weekend time
	times spring summer autumn fall winter season semester term quarter january february march april may june july august
	september october november december monday tuesday wednesday thursday friday saturday sunday moment point kind kinds
	sort sorts type types coming past is was are were has will and or but christmas easter thanksgiving halloween ramadan
	hanukkah eid diwali holiday holidays`)

// pointsAtNothing reports whether a statement points at a thing that no words of it name before.
func pointsAtNothing(said string) bool {
	if servesMe.MatchString(said) {
		return true
	}
	at := atThing.FindStringSubmatch(said)
	if at == nil || timed[strings.ToLower(at[2])] {
		return false
	}
	words := text.Words(at[1])
	return !slices.ContainsFunc(words[min(1, len(words)):], func(w text.Word) bool {
		return defining[w.Lower] || w.Capital
	})
}

// defining words stand before the name of a thing that a pronoun behind it may mean, or join another clause.
var defining = text.WordSet(`a an the my our his her their your some any every each no another one two three and but
	or that which who when because so if`)

var ownThing = regexp.MustCompile(`(?i)^(?:it|that|this)(?: is|['’]s) (?:not )?(?:my|our|true)\b` +
	`|^(?:i|we) (?:\pL+ )?(?:like|love|hate|enjoy) it (?:in|at|here|there)\b`)

// dangles reports whether a statement needs the words before it to name its thing. Without a reader, no statement
// becomes talk, so only the surest signs count.
func (f *Former) dangles(said string) bool {
	return dangling.MatchString(said) && !ownThing.MatchString(said) || f.read != nil && pointsAtNothing(said)
}

// mentionsOf returns the different mentions in a text that a pronoun may stand for.
func mentionsOf(said, pronoun string) []string {
	var out []string
	for _, m := range text.Mentions(said) {
		if !m.Is(pronoun) || len(out) > 0 && strings.EqualFold(out[len(out)-1], m.Phrase) {
			continue
		}
		out = append(out, m.Phrase)
	}
	return out
}
