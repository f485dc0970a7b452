package recall

import (
	"strings"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/diagnosis"
)

// Cascade holds the share of evidence by the stage that lost it first, and the share that was not lost. Each question
// with evidence counts as one, split evenly over its evidence turns. The shares sum to 1.
type Cascade map[string]float64

// CascadeStages returns the names of the stages in order. The last one means no loss.
func CascadeStages() []string {
	var out []string
	for _, s := range diagnosis.Stages() {
		out = append(out, stageName(s))
	}
	return out
}

// stageName is the contract's name of a stage in lower case ("dropped_by_filter").
func stageName(s diagnosis.Stage) string {
	return strings.ToLower(strings.TrimPrefix(mnemev1.Stage(s).String(), "STAGE_")) //nolint:gosec // one of ten
}

// Errors groups a cascade by the part of the system that causes the loss.
type Errors struct {
	// Memory is evidence missing in the bank. Profile is evidence in the bank but not in the profile. Generation is
	// the rest.
	Memory     float64 `json:"memory_error"`
	Profile    float64 `json:"profile_error"`
	Generation float64 `json:"generation_error"`
}

// Errors sums the stages of each group.
func (c Cascade) Errors() Errors {
	var out Errors
	for _, s := range diagnosis.Stages() {
		lost := c[stageName(s)]
		switch {
		case s <= diagnosis.LostInUpdate:
			out.Memory += lost
		case s <= diagnosis.LeftOutOfProfile:
			out.Profile += lost
		case s == diagnosis.Generator:
			out.Generation += lost
		}
	}
	return out
}

// CascadeOf splits a question over the diagnoses of its evidence turns. It is empty without evidence.
func CascadeOf(findings []*mnemev1.Finding) Cascade {
	out := Cascade{}
	for _, f := range findings {
		out[stageName(diagnosis.Stage(f.GetStage()))] += 1 / float64(len(findings))
	}
	return out
}
