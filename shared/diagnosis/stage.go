// Package diagnosis names the stage that lost a statement on its way into an answer. It is pure: evidence goes in
// as data, and a finding with figures comes out. A finding has no text of a user.
package diagnosis

// Stage is a stage that can lose a statement, in order. The contract uses the same numbers.
type Stage int

// The stages. The stages up to LostInUpdate are errors of memory. The stages up to LeftOutOfProfile are errors of
// the profile. Generator is the error of generation (the gated cascade of SaliMory).
const (
	// Unspecified is the stage for an empty expectation.
	Unspecified Stage = iota
	// NotIngested: no known turn contains it, or the turn is still on its way.
	NotIngested
	// DroppedByFilter: the saliency filter dropped the turn.
	DroppedByFilter
	// NotExtracted: no memory was made from the turn, or no memory that contains it.
	NotExtracted
	// LostInUpdate: the memories that contain it no longer hold.
	LostInUpdate
	// NotRetrieved: the search of the bank did not find it.
	NotRetrieved
	// CutByReranker: the reranker ranked other memories higher.
	CutByReranker
	// LeftOutOfProfile: it is not in the profile.
	LeftOutOfProfile
	// Generator: it was in the profile, and the answer does not use it.
	Generator
	// Answered: it is in the answer.
	Answered
)

// String returns the stage in words.
func (s Stage) String() string {
	switch s {
	case NotIngested:
		return "not ingested"
	case DroppedByFilter:
		return "dropped by the filter"
	case NotExtracted:
		return "not extracted"
	case LostInUpdate:
		return "lost in an update"
	case NotRetrieved:
		return "not retrieved"
	case CutByReranker:
		return "cut by the reranker"
	case LeftOutOfProfile:
		return "left out of the profile"
	case Generator:
		return "generator"
	case Answered:
		return "answered"
	}
	return "unspecified"
}

// Stages returns all stages, in order.
func Stages() []Stage {
	return []Stage{
		NotIngested, DroppedByFilter, NotExtracted, LostInUpdate, NotRetrieved, CutByReranker, LeftOutOfProfile, Generator,
		Answered,
	}
}

// Earliest returns the earliest stage of the findings, or Unspecified for an empty list.
func Earliest(findings []Finding) Stage {
	earliest := Unspecified
	for _, f := range findings {
		if earliest == Unspecified || f.Stage < earliest {
			earliest = f.Stage
		}
	}
	return earliest
}
