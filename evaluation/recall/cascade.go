package recall

import (
	"strings"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/diagnosis"
)

// Cascade has, by stage, the share of evidence that was lost there first, and of what came through. Shares are of questions with
// evidence, each split evenly over its evidence turns, so they sum to 1.
type Cascade map[string]float64

// CascadeStages are the stages by name, in order; the last is that nothing was lost.
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

// Errors groups a cascade by which part of the system its stages are of.
type Errors struct {
	// Memory is what the bank never had or no longer has, Profile what it has and the profile does not, Generation the rest.
	Memory     float64 `json:"memory_error"`
	Profile    float64 `json:"profile_error"`
	Generation float64 `json:"generation_error"`
}

// Errors sums the stages up.
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

// CascadeOf splits a question over what became of its evidence turns. It is empty without any.
func CascadeOf(findings []*mnemev1.Finding) Cascade {
	out := Cascade{}
	for _, f := range findings {
		out[stageName(diagnosis.Stage(f.GetStage()))] += 1 / float64(len(findings))
	}
	return out
}
