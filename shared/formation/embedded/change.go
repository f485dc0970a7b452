package embedded

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// A change is told in many words, but it nearly always names what it changes ("I left Bosch", "yoga is Monday now, not Friday"). So
// a statement with a cue of change is held against the entries of the same owner that share what it names, beside those of its
// slot.

// cue is what the words of a statement say about how it stands to what is known.
type cue uint8

// The cues; a statement may have several.
const (
	// cueEnd says that something is over.
	cueEnd cue = 1 << iota
	// cueReplace says that one thing took the place of another.
	cueReplace
	// cueLimit says that something holds less than before.
	cueLimit
	// cueMore says that something comes on top.
	cueMore
	// cueWish says that nothing happened yet.
	cueWish
	// cueAgain says that all is as before.
	cueAgain
)

// cuePatterns by cue; every match of a pattern has one of the words, which spares most statements the pattern.
var cuePatterns = []struct {
	cue     cue
	words   map[string]bool
	pattern *regexp.Regexp
}{
	{cueEnd, text.WordSet(`wait broke split fell fight friends talk single went sent gave brought took handed given sending returned
		returning over longer anymore more up stopped quit quitting dropped dropping done finished over gone goodbye farewell history left
		leaving lost go laid withdrawn withdrew cancelled canceled called ended sold rid away threw handed retired moved off cleared
		healed recovered through work wasn't nothing fed bored again past behind died passed closed shut expired scrapped ditched out`), regexp.MustCompile(`(?i)\b(?:no longer|any ?more|no more|gave (?:\w+ ){0,4}up|given (?:\w+ ){0,4}up|giving up|stopped|quit|quitting|dropped|dropping|done with|finished with|(?:completely|totally|finally|all|it's|it is|is|are|was) over|over (?:with|between)|fell out|big fight|not friends|don't talk|single again|went back|(?:sent|gave|brought|took|handed|given|sending) (?:\w+ |[\p{L}-]+ ){0,5}(?:back|out)|return(?:ed|ing)|is gone|are gone|goodbye|farewell|history|left|leaving|lost|let ` + selfMark + ` go|laid ` + selfMark + ` off|withdrawn|withdrew|cancell?ed|called off|ended|broke up|can wait|split up|sold|got rid of|gave away|threw (?:out|away)|handed in|retired|moved (?:out|away)|took ` + selfMark + ` off|off the|cleared ` + selfMark + `|healed|recovered|fell through|not work out|wasn't for|did nothing|fed up|bored|never again|a thing of the past|behind ` + selfMark + `|died|passed away|closed down|shut down|expired|scrapped|ditched|out of)\b`)},
	{cueReplace, text.WordSet(`instead switch switched switching swap swapped swapping changed changes changing replaced replacing replaces
		rather place traded trading exchanged exchanging converted converting upgraded upgrading promoted promotion moved renamed
		rescheduled rescheduling postponed postponing pushed pushing brought delayed used correction actually differently turns turned no
		not from fact meant wrong new now`), regexp.MustCompile(`(?i)\b(?:instead|switch(?:ed|ing)?|swap(?:ped|ping)?|chang(?:ed|es|ing)|replac(?:ed|ing|es)|rather than|in place of|trad(?:ed|ing)|exchang(?:ed|ing)|convert(?:ed|ing)|upgrad(?:ed|ing)|promot(?:ed|ion)|moved (?:\w+ )?(?:up|on|to|from)|renamed|reschedul(?:ed|ing)|postpon(?:ed|ing)|push(?:ed|ing) (?:\w+ ){0,3}(?:back|to)|brought forward|delayed|used to|correction|actually|differently|turns out|turned out|no, |not ` + `[\p{L}\d' ]{2,30}$|from [\p{L}\d' -]{2,40} to|in fact|i meant|wrong|the new|now)\b`)},
	{cueLimit, text.WordSet(`too only just except exception cut reduced reducing less fewer not rest apart part`),
		regexp.MustCompile(`(?i)\b(?:only|just|except|exception|cut (?:down|back|` + selfMark + `)|reduc(?:ed|ing)|less|fewer|but not|not so|too (?:late|early|much)|rest|apart from|part of it)\b`)},
	{cueMore, text.WordSet(`also top besides addition well too additionally way days even`),
		regexp.MustCompile(`(?i)\b(?:also|on top of|besides|in addition|as well|too|additionally|by the way|these days|even)\b`)},
	{cueWish, text.WordSet(`would if dream dreams dreamed dreaming dreamt daydream imagine imagines one some someday maybe perhaps might
		hope hopes wish wishes want wants think thinks consider considers considering another planning could`), regexp.MustCompile(`(?i)\b(?:would|if|dream(?:s|ed|ing|t)? of|daydream|imagines?|one day|some ?day|maybe|perhaps|might|hopes?|wish(?:es)?|wants? to|thinks? about|considers?|considering|in another life|planning to|could)\b`)},
	{cueAgain, text.WordSet(`still as nothing same like again`),
		regexp.MustCompile(`(?i)\b(?:still|as ` + otherMark + ` knows?|as you know|as ` + selfMark + ` said|nothing(?:'s| has)? changed|same as (?:before|ever|always)|like before|as before|as ever|again|as always)\b`)},
}

func cuesOf(marked string) cue {
	var c cue
	words := text.Words(marked)
	for _, p := range cuePatterns {
		has := func(w text.Word) bool { return p.words[w.Lower] }
		if slices.ContainsFunc(words, has) && p.pattern.MatchString(marked) {
			c |= p.cue
		}
	}
	return c
}

// has reports whether one of the cues is there.
func (c cue) has(cues cue) bool { return c&cues != 0 }

// anchorsOf returns the stems that name what a statement is about: content words but those of time, of change, of small talk and of
// verbs that go with anything.
func anchorsOf(marked string) map[string]bool {
	out := map[string]bool{}
	for _, w := range text.Words(marked) {
		lower := strings.TrimSuffix(w.Lower, "'s")
		if w.Number || text.IsStopWord(lower) || timeWords[lower] && !weekdayWord(lower) || smallTalk[lower] || relations[lower] ||
			reportWords[lower] || denyingWords[lower] || commonplace[lower] ||
			smallTalk[text.Stem(lower)] || commonplace[text.Stem(lower)] {
			continue
		}
		for part := range strings.SplitSeq(lower, "-") {
			if len(part) > 2 && !text.IsStopWord(part) {
				out[text.Stem(part)] = true
			}
		}
	}
	return out
}

func weekdayWord(w string) bool {
	return strings.HasSuffix(w, "day") || strings.HasSuffix(w, "days") && len(w) > 5
}

// commonplace words go with any matter.
var commonplace = text.WordSet(`play plays playing played do does go goes make makes take takes taking making keep keeps move moved
	moving live lives lived living work works worked working start started starts stop left leave leaving switch switched change
	changed went gone come came put got had took gave made did says told asked new old place home town city house now still instead
	actually want wants wanted need needs try tried find found week year month day morning evening time first second last next big
	change people call called turn turned thought feels feel felt honestly quite busy done way life whole happy afraid sorry photo
	shared picture guess tell told ever never longer any more correction cancelled drop dropped quit used use using`)

// ownerOf says whose life a marked statement is about: "self", or "self's sister".
func ownerOf(marked string) string {
	body := strings.TrimPrefix(marked, selfMark+" said: ")
	for _, m := range kin.FindAllStringSubmatch(body, 4) {
		relative := strings.ToLower(m[1])
		if relations[relative] && !animals[relative] && !selfActs.MatchString(body) {
			return "self's " + relative
		}
	}
	return "self"
}

var (
	kin      = regexp.MustCompile(selfMark + `'s (?:older |younger |little |big |best |twin |late )?([\p{L}-]+)`)
	selfActs = regexp.MustCompile(selfMark + `(?: and others)? [\p{Ll}]|\b(?:with|for|to|at|by|made|put|hired|gave|let|took) ` +
		selfMark + `(?:[^']|$)`)
	animals = text.WordSet("dog dogs cat cats team group")
)

// likely is the probability from which what is said may take the place of an entry that has no room for it.
const likely = 0.5

// surely is the probability from which what is said takes the place of what is known; below it, both are kept in one entry, so that
// nothing is lost to a mistake.
const surely = 0.8

// change decides on a statement that may tell of a change: which of the known entries it changes, the likeliest first, and whether
// they stay true beside it. What it surely replaces it replaces wherever it was told.
func (d *decider) change(p proposal, known []memory.Memory, similarity map[string]float64) (targets []memory.Memory, adds bool) {
	best := 0.0
	var alike []memory.Memory
	for _, pair := range d.pairs(p, known, similarity) {
		probability := d.former.judge(pair)
		if probability >= max(best, d.former.threshold) {
			best, targets = probability, []memory.Memory{pair.Entry}
		}
		if probability >= likely {
			alike = append(alike, pair.Entry)
		}
	}
	if len(targets) == 0 {
		return nil, false
	}
	if adds = d.adds(p) || best < surely && (best < likely || fits(p, targets[0])); adds {
		return targets, true
	}
	for _, m := range alike {
		if m.ID != targets[0].ID && len(targets) < maxReplaced {
			targets = append(targets, m)
		}
	}
	return targets, false
}

// hardly reports whether a statement only looks like a change: it would never quit, or takes back what was said of somebody else.
func hardly(marked string) bool {
	if notTrueOf.MatchString(strings.TrimPrefix(marked, selfMark+" said: ")) {
		return true
	}
	rest := notNegation.ReplaceAllString(marked, " ")
	return rest != marked && !cuesOf(rest).has(cueEnd|cueReplace|cueLimit)
}

// maxReplaced bounds how many entries one statement may take the place of.
const maxReplaced = 4

// sameOwner reports whether an entry is of the candidate's speaker, and not surely about another one of theirs.
func (d *decider) sameOwner(p proposal, old *reading) bool {
	first := strings.Index(old.marked, selfMark)
	if first < 0 {
		return false
	}
	for name := range d.speakers {
		if i := strings.Index(old.marked, name); i >= 0 && i < first {
			return false
		}
	}
	return true
}

// leads reports whether whom a statement is about is certain: it does not only report.
func leads(r *reading) bool {
	return r.subject != "" && !strings.Contains(r.marked, " said: ")
}

// isKin reports whether a subject is somebody of the speaker's, rather than the speaker or something of theirs.
func isKin(subject string) bool {
	_, relative, ok := strings.Cut(subject, "'s ")
	return ok && relations[relative] && !animals[relative]
}

// isOver reports whether an entry tells of something that happened and was over with it: no later statement changes that, though
// one may correct it.
func (r *reading) isOver(m memory.Memory, at time.Time) bool {
	return m.Kind == memory.KindEpisodic && !m.EventTime.Time.After(at) && !isPlan(r.marked) && !hasAny(r.tokens, inceptive)
}

// inceptive verbs begin something that goes on.
var inceptive = text.WordSet(`start started starts begin began begun join joined took taken take takes got get gets enrolled enroll
	signed hired became opened bought adopted moved relocated settled switched changed swapped booked scheduled diagnosed engaged
	married proposed received unwrapped learning learned learnt dating met promoted accepted picked decided planted set put left quit
	stopped dropped still now since lives works has is hooked cancelled replaced`)

// asked is the question before a candidate's turn, when another speaker asked it.
func (d *decider) asked(p proposal) string {
	for i, t := range d.session.Turns {
		if t.ID != p.Sources[0] {
			continue
		}
		if i == 0 || displayName(d.session.Turns[i-1]) == p.self || !strings.Contains(d.session.Turns[i-1].Text, "?") {
			return ""
		}
		return d.session.Turns[i-1].Text
	}
	return ""
}

// answerCues are the cues of how a turn answers the question before it: "No, ..." says that what was asked about is over.
func (d *decider) answerCues(p proposal) cue {
	if d.asked(p) != "" && answersNo.MatchString(d.turns[p.Sources[0]].Text) {
		return cueEnd
	}
	return 0
}

var answersNo = regexp.MustCompile(`(?i)^\W*(?:no|nope|nah|not any ?more|not really|sadly not|unfortunately not)\b`)
