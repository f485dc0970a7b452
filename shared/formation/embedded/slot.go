package embedded

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

// maxSlotWords bounds the statements that set a slot. In a longer one the attribute is a remark beside other
// things, and replacing the whole statement would lose them.
const maxSlotWords = 16

// subject matches the speaker, or somebody of theirs: "Ana", "Ana's sister".
const subject = `(` + selfMark + `(?:'s (?:older |younger |little |big |best )?[\p{Ll}]+)?)`

// soft adverbs that may stand before the verb without changing what it says.
const soft = `(?: now| currently| just| recently| actually| finally| still| also| has| officially| already)*`

// place is a proper name, which tells "moved to Rome" from "moved to tears".
const place = `((?:the |downtown |central )?\p{Lu}[\p{L}.'-]*(?:(?:,)? (?:of |de |la )?\p{Lu}[\p{L}.'-]*)*)`

// slotPattern finds one attribute: its first group is the subject, its last the value.
type slotPattern struct {
	attribute string
	// keyed is whether the second of three groups is part of the attribute ("favourite film").
	keyed bool
	// many is whether a subject may have several, so that a second value is no new value.
	many bool
	// cues are parts of words one of which every match has; they spare most statements the pattern.
	cues    []string
	pattern *regexp.Regexp
}

func slot(attribute, cues, tail string) slotPattern {
	return slotPattern{attribute: attribute, cues: strings.Fields(cues),
		pattern: regexp.MustCompile(`(?:^|[.,;!?] |\band |\bbut |\bso )` + subject + soft + tail)}
}

func keyed(attribute, cues, tail string) slotPattern {
	s := slot(attribute, cues, tail)
	s.keyed = true
	return s
}

func many(s slotPattern) slotPattern {
	s.many = true
	return s
}

// value matches up to the end of the clause.
const value = `([^.,;!?()]+)`

// slotPatterns in order of preference.
var slotPatterns = []slotPattern{
	slot("residence", "live living moved relocated based settled",
		` (?:lives?|living|is living|moved(?: back| away| over)?|relocated|is based|settled)(?: (?:here|there|over))? (?:in|to|at) `+place),
	slot("age", "is turned", ` (?:is|turned|just turned) (\d{1,3})(?: years? old| today| yesterday| last| this|[.,!]|$)`),
	slot("birthday", "birthday", `'s birthday is (?:on )?`+value),
	keyed("favourite", "favo fave", `'s (?:all-time |absolute )?(?:favou?rite|fave) ([\p{L}-]+(?: [\p{L}-]+)?) (?:is|are) (?:now |called )?`+value),
	keyed("preferred", "preferred", `'s preferred ([\p{L}-]+(?: [\p{L}-]+)?) (?:is|are) (?:now )?`+value),
	keyed("preferred", "prefers", ` prefers ([\p{L}-]+) ((?:in|at|on|after|before) [^.,;!?()]+)`),
	many(keyed("name of", "name called goes",
		`'s ([\p{L}-]+)(?:'s name is(?: now)?| is (?:now )?(?:called|named)| goes by) (\p{Lu}[\p{L}'-]*)`)),
	slot("relationship", "single married engaged divorced separated widowed dating seeing relationship",
		` (?:is|got|has been|is getting)(?: \w+ly)? (single|married|engaged|divorced|separated|widowed|dating|seeing someone|in a relationship)`),
	slot("relationship", "broke", ` (broke up) with`),
	slot("diet", "vegan vegetarian pescatarian keto free plant",
		` (?:is|went|became|turned|eats|is eating)(?: strictly| fully| \w+ly)?(?: a)? (vegan|vegetarian|pescatarian|keto|gluten-free|dairy-free|plant-based)`),
	slot("job", "work started job promoted employed hired",
		` (?:(?:works|is working|started(?: working)?|got a job|is employed|got hired|was hired) as|(?:got|was|has been) promoted to)(?: be)? (?:an? |the )?`+value),
	slot("job", "is became", ` (?:is|became) (?:an? |the )((?:[\p{L}-]+ )?(?:nurse|teacher|engineer|doctor|lawyer|developer|designer|manager|chef|writer|student|artist|accountant|scientist|analyst|journalist|architect|photographer|musician|carpenter|electrician|plumber|dentist|therapist|counselor|barista|waiter|waitress|pilot|driver|mechanic|librarian|programmer|consultant|professor|researcher|electrician|firefighter|paramedic|pharmacist|veterinarian))(?: at| for| in|[.,!]|$)`),
	slot("employer", "work started job employed joined left",
		` (?:works|is working|started(?: working)?|got a job|is employed|joined|left for)(?: at| for| with)? `+place),
	slot("school", "stud goes attend enrolled transferred",
		` (?:studies|is studying|goes to|attends|enrolled|transferred)(?: at| in| to)? (\p{Lu}[\p{L}.'-]*(?: (?:of |\p{Lu})[\p{L}.'-]*)* ?(?:University|College|School|Academy|Institute)(?: of \p{Lu}\p{L}+)?)`),
	slot("major", "major switched", `(?:'s major is| majors in| is majoring in| switched majors? to) `+value),
	slot("car", "driv car", `(?: drives| is driving|'s (?:new )?car is) (?:an? |the )?`+value),
	slot("phone", "phone", `'s (?:new )?phone is (?:an? |the )?`+value),
	slot("phone number", "number", `'s (?:phone |mobile |cell )?number is (?:now )?([\d+() -]{5,})`),
	slot("email", "mail", `'s e-?mail(?: address)? is (?:now )?(\S+)`),
	slot("address", "address", `'s (?:home )?address is (?:now )?([^;!?]+)`),
	slot("name", "name", `'s name is (?:now )?(\p{Lu}[\p{L}'-]*)`),
}

// routine finds what is done at set times: verb, object, times.
var routine = regexp.MustCompile(`^` + subject + `(?: usually| always| normally| now| typically)* (\p{Ll}+s)\b([^.,;!?()]*?) ` +
	`((?:every|each) (?:other )?[\p{L}]+(?: (?:morning|afternoon|evening|night))?|on \p{Lu}\p{Ll}+days|(?:once|twice|\p{L}+ times) a (?:day|week|month))`)

// foundSlot is an attribute with its value.
type foundSlot struct {
	value string
	many  bool
}

// findSlot returns the slot ("<self>/residence") that a marked statement sets, or "".
func findSlot(marked string) (string, foundSlot) {
	if !strings.Contains(marked, selfMark) || contentWords(marked) > maxSlotWords {
		return "", foundSlot{}
	}
	for _, p := range slotPatterns {
		if !slices.ContainsFunc(p.cues, func(cue string) bool { return strings.Contains(marked, cue) }) {
			continue
		}
		m := p.pattern.FindStringSubmatch(marked)
		if m == nil {
			continue
		}
		attribute := p.attribute
		if p.keyed {
			attribute += " " + slotKey(m[2])
		}
		return m[1] + "/" + attribute, foundSlot{value: normal(m[len(m)-1]), many: p.many}
	}
	if m := routine.FindStringSubmatch(marked); m != nil {
		if activity := activityOf(m[2], m[3]); activity != "" {
			return m[1] + "/routine:" + activity, foundSlot{value: normal(m[4])}
		}
	}
	return "", foundSlot{}
}

// contentWords counts the words that are not stop words.
func contentWords(said string) int {
	n := 0
	for _, w := range text.Words(said) {
		if !text.IsStopWord(w.Lower) {
			n++
		}
	}
	return n
}

// activityOf names a routine by its verb, or by the object of a verb that says little.
func activityOf(verb, object string) string {
	if emptyVerbs[verb] {
		return ""
	}
	if !lightVerbs[verb] {
		return text.Stem(verb)
	}
	for _, w := range text.ContentStems(object) {
		return w
	}
	return ""
}

// lightVerbs need their object to name a routine; emptyVerbs name none.
var (
	lightVerbs = text.WordSet("goes does takes makes plays attends visits")
	emptyVerbs = text.WordSet("is has sees gets says was thinks knows feels wants needs likes loves")
)

func slotKey(s string) string { return normal(s) }

// normal returns the content stems of a value in order, so that spellings of one value are equal.
func normal(s string) string { return strings.Join(text.ContentStems(s), " ") }
