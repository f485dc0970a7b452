package reward

import "slices"

// Personalization is how an answer uses what is remembered of the user: the leaves of SaliMory's three-step judge (B.3, Figure 5), of which
// each answer is exactly one.
type Personalization string

// The classes. The first three are of answers that use a memory.
const (
	// PersonalizationGood is of an answer that is better for it.
	PersonalizationGood Personalization = "good"
	// PersonalizationBasic is of one that only mentions it.
	PersonalizationBasic Personalization = "basic"
	// PersonalizationBad is of one that is worse for it: intrusive, beside the point or untrue.
	PersonalizationBad Personalization = "bad"
	// PersonalizationUnderuse is of an answer that uses no memory although one bears on the question.
	PersonalizationUnderuse Personalization = "underuse"
	// PersonalizationNone is of an answer that uses none because none does.
	PersonalizationNone Personalization = "not_applicable"
)

// PersonalizationClasses are all there are.
func PersonalizationClasses() []Personalization {
	return []Personalization{PersonalizationGood, PersonalizationBasic, PersonalizationBad, PersonalizationUnderuse, PersonalizationNone}
}

// Personalized reports whether the answer uses a memory, well or badly.
func (p Personalization) Personalized() bool {
	return slices.Contains([]Personalization{PersonalizationGood, PersonalizationBasic, PersonalizationBad}, p)
}

// PersonalizationQuality is what the second step asks of an answer that uses a memory (B.3, Task 2, criteria 1 to 5).
type PersonalizationQuality struct {
	// Rich: what is remembered is worked into the answer, and not only inserted.
	Rich bool
	// ValueAdding: the answer is better for it.
	ValueAdding bool
	// Fitting: the tone is right, and nothing intrusive or offensive is said.
	Fitting bool
	// Relevant: the answer is to the question.
	Relevant bool
	// Sound: the answer is coherent, and nothing in it is made up.
	Sound bool
}

// Class is good where all criteria are met, bad where one of the answer as a whole is not (3 to 5), and basic otherwise.
func (q PersonalizationQuality) Class() Personalization {
	switch {
	case !(q.Fitting && q.Relevant && q.Sound):
		return PersonalizationBad
	case q.Rich && q.ValueAdding:
		return PersonalizationGood
	}
	return PersonalizationBasic
}

// PersonalizationCounts are how many answers each class has.
type PersonalizationCounts map[Personalization]int

// PersonalizationRates are shares of all answers, those to which it does not apply among them (B.3, Table 5).
type PersonalizationRates struct {
	// Personalized is the share of good, basic and bad ones together, Good and Underuse those of these alone.
	Personalized, Good, Underuse float64
}

// Rates are the shares; of no answers all are 0.
func (c PersonalizationCounts) Rates() (out PersonalizationRates) {
	all, personalized := 0, 0
	for class, n := range c {
		all += n
		if class.Personalized() {
			personalized += n
		}
	}
	if all == 0 {
		return out
	}
	n := float64(all)
	return PersonalizationRates{
		Personalized: float64(personalized) / n, Good: float64(c[PersonalizationGood]) / n, Underuse: float64(c[PersonalizationUnderuse]) / n,
	}
}
