package embedded

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

// attributeClasses are the attributes of a life that change as a whole, with words that only go with them: statements of one class
// may be about the same though they share no name ("I now run the archive on top of my work", "I handed in my notice").
var attributeClasses = []struct{ name, words string }{
	{"job", "work job career employer employed hired hire promoted promotion notice badge boss salary wage raise role profession occupation workplace full-time part-time shift apply application resign retire unemployed shop office staff"},
	{"home", "live lives flat apartment house home address rent settle settled relocate relocated keys neighbourhood neighborhood town moved van boxes landlord mortgage"},
	{"money", "save saves saving savings money euro euros dollars pounds month amount goal afford budget paid aside"},
	{"love", "dating date engaged married marry marriage ring proposed couple together wedding broke divorced single partner girlfriend boyfriend husband wife fiance fiancee"},
	{"friend", "friend friends friendship fight quarrel talk apologised apologized"},
	{"birthday", "birthday date born present cake"},
	{"appointment", "appointment o'clock half quarter past sees remind called cancelled booked rescheduled"},
	{"trip", "trip travel travelling traveling flight book booked ticket tickets postponed postpone going visit fly holiday vacation"},
	{"diet", "diet eat eats vegan vegetarian strict allowed food meat gluten dairy carb"},
	{"health", "doctor diagnosed symptoms treatment therapy pain ill illness recovered healed pills medication tablets dose"},
	{"routine", "every plan planning planner week weekly routine habit schedule morning"},
	{"exercise", "workout train training class session gym exercise practice drills times"},
	{"course", "course class study studying enrolled exam lecture degree lessons college university school"},
	{"drink", "drink drinks coffee tea cup sugar milk"},
	{"allergy", "allergy allergic rash tolerate react reaction hives"},
	{"fear", "afraid fear scared phobia terrified"},
	{"feeling", "feel felt feeling thinking thought back looking taught learned lesson showed meant"},
	{"vehicle", "car drive driving ride bike parked garage van motorbike"},
}

// attributeClassesOf maps stems to a bit for each of their classes.
var attributeClassesOf = func() map[string]uint32 {
	out := map[string]uint32{}
	for i, m := range attributeClasses {
		for _, w := range strings.Fields(m.words) {
			out[text.Stem(w)] |= 1 << i
		}
	}
	return out
}()

// classesOf returns the classes of which a statement has most words, as bits; 0 for none.
func classesOf(tokens []token) uint32 {
	counts := make([]int, len(attributeClasses))
	most := 0
	for _, t := range tokens {
		bits := attributeClassesOf[t.stem]
		for i := range counts {
			if bits&(1<<i) != 0 {
				counts[i]++
				most = max(most, counts[i])
			}
		}
	}
	var out uint32
	for i, n := range counts {
		if n > 0 && n == most {
			out |= 1 << i
		}
	}
	return out
}
