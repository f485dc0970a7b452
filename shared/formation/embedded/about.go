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

// earlier returns the turns before turn i, the newest first, with the turns that a gate dropped. Of turns of one time and
// place, it takes the formed one first.
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

// refer puts the person or thing that a clause's pronoun stands for before the clause: "[about: My aunt Rosa] She is 70".
// behind is the turn's text before the clause. The only candidate must be in it, or else in the speaker's turns before.
// joins reports a clause that needs the clause before it instead.
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

// referTo refers a clause behind the quotations of its turn. A clause about a person who is not known is talk, unless it
// joins the quotation before it.
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
	unknown := joins && text.IsPerson(pronoun) || dangles(q.said)
	if unknown && f.read != nil && (n < 0 || out[n].tier != q.tier || out[n].foreign) {
		q.tier, q.kind = memory.TierTalk, ""
	}
	return q, joins || leans || unknown
}

// dangling matches a statement about a thing that only its pronoun names: "It's a 1969 coupé", "I've finished it in May".
// In "it's my birthday", the words behind it name it.
var dangling = regexp.MustCompile(`(?i)^(?:it|they|that|those|these|this) (?:is|are|was|were|has|have|had|will|would|can|could|should|may|might)\b` +
	`|^(?:it|that|they)['’](?:s|re|ve|ll|d)\b|^(?:i|we)(?:['’]\pL+)?(?: [\pL'’]+){1,3} (?:it|them|those)\b`)

var ownThing = regexp.MustCompile(`(?i)^(?:it|that|this)(?: is|['’]s) (?:not )?(?:my|our|true)\b`)

// dangles reports whether a statement needs the words before it to name its thing.
func dangles(said string) bool { return dangling.MatchString(said) && !ownThing.MatchString(said) }

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
