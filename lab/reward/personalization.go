package reward

import "slices"

// Personalization is a class of an answer's use of memories about the user. The classes are the leaves of SaliMory's
// three-step judge (B.3, Figure 5). Each answer has exactly one.
type Personalization string

// The classes. Answers of the first three use a memory.
const (
	// PersonalizationGood means that the memory improves the answer.
	PersonalizationGood Personalization = "good"
	// PersonalizationBasic means that the answer only mentions the memory.
	PersonalizationBasic Personalization = "basic"
	// PersonalizationBad means that the memory makes the answer worse: intrusive, irrelevant or untrue.
	PersonalizationBad Personalization = "bad"
	// PersonalizationUnderuse means that the answer uses no memory although one is relevant.
	PersonalizationUnderuse Personalization = "underuse"
	// PersonalizationNone means that the answer uses no memory because none is relevant.
	PersonalizationNone Personalization = "not_applicable"
)

// Personalized reports whether the answer uses a memory, well or badly.
func (p Personalization) Personalized() bool {
	return slices.Contains([]Personalization{PersonalizationGood, PersonalizationBasic, PersonalizationBad}, p)
}

// PersonalizationQuality has the criteria of the second step, for an answer that uses a memory (B.3, Task 2, criteria
// 1 to 5).
type PersonalizationQuality struct {
	// Rich: the answer works the memory in, and does not only insert it.
	Rich bool
	// ValueAdding: the memory improves the answer.
	ValueAdding bool
	// Fitting: the tone is right, and the answer is neither intrusive nor offensive.
	Fitting bool
	// Relevant: the answer fits the question.
	Relevant bool
	// Sound: the answer is coherent and invents nothing.
	Sound bool
}

// Class is good where all criteria are met. It is bad where one of criteria 3 to 5, on the whole answer, is not met.
// Otherwise it is basic.
func (q PersonalizationQuality) Class() Personalization {
	switch {
	case !(q.Fitting && q.Relevant && q.Sound):
		return PersonalizationBad
	case q.Rich && q.ValueAdding:
		return PersonalizationGood
	}
	return PersonalizationBasic
}

// PersonalizationCounts counts the answers of each class.
type PersonalizationCounts map[Personalization]int

// PersonalizationRates are shares of all answers, answers without a relevant memory included (B.3, Table 5).
type PersonalizationRates struct {
	// Personalized is the share of good, basic and bad answers together. Good and Underuse are the shares of one
	// class.
	Personalized, Good, Underuse float64
}

// Rates returns the shares. Without answers all are 0.
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
		Personalized: float64(personalized) / n, Good: float64(c[PersonalizationGood]) / n,
		Underuse: float64(c[PersonalizationUnderuse]) / n,
	}
}
