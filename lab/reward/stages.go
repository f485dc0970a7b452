package reward

import (
	"github.com/mneme-memory/mneme/shared/fault"
)

// StageOptions are SaliMory's weights (Table 6).
type StageOptions struct {
	// Personalization is the bonus of a personal answer over a right answer (lambda_p).
	Personalization float64
	// Penalty and Bonus are weights of memory quality (lambda_pen, lambda_bon). The paper's text has the penalty
	// three times the bonus, its table 0.5 and 0.3.
	Penalty, Bonus float64
	// Utilization and Filter weigh the two parts of R3 (lambda_mu, lambda_kappa). FilterRecall is the share of recall
	// in the filter's part (w_r).
	Utilization, Filter, FilterRecall float64
}

// StageDefaults returns the values of the paper's table.
func StageDefaults() StageOptions {
	return StageOptions{Personalization: 0.45, Penalty: 0.5, Bonus: 0.3, Utilization: 0.15, Filter: 0.1, FilterRecall: 0.6}
}

// PenaltyOfText returns the options with the penalty that the paper's text names: three times the bonus (3.3).
func (o StageOptions) PenaltyOfText() StageOptions {
	o.Penalty = 3 * o.Bonus
	return o
}

// Validate reports a setting that is out of range.
func (o StageOptions) Validate() error {
	for name, v := range map[string]float64{
		"personalization": o.Personalization, "penalty": o.Penalty, "bonus": o.Bonus, "utilization": o.Utilization,
		"filter": o.Filter,
	} {
		if !(v >= 0) {
			return fault.Terminal(name, "is %v, want 0 or more", v)
		}
	}
	if !(o.FilterRecall >= 0 && o.FilterRecall <= 1) {
		return fault.Terminal("filter_recall", "is %v, want 0 to 1", o.FilterRecall)
	}
	return nil
}

// Response is a judge's marks for an answer (SaliMory, E.1).
type Response struct {
	// Accuracy is the correctness of the answer, 0 to 1.
	Accuracy float64
	// Personalization is the answer's use of facts about the user, 0 to 1. It counts only where Applicable.
	Personalization float64
	Applicable      bool
}

// ResponseQuality is R1 (Eq. 1). A wrong answer has 0, however personal it is.
func (o StageOptions) ResponseQuality(r Response) float64 {
	if !r.Applicable {
		return r.Accuracy
	}
	return r.Accuracy * (1 + o.Personalization*r.Personalization)
}

// Entries is a judge's count of a bank (SaliMory, E.2): all entries, entries faithful to their sources, and entries
// too vague to be of use.
type Entries struct{ All, Factual, Vague int }

// Composite is gamma, 0 to 1: the share of faithful entries, less the vague ones among them. Without entries it is 1,
// by the judge's instructions. So forming no entries is best by this reward alone.
func (e Entries) Composite() float64 {
	if e.All == 0 {
		return 1
	}
	n := float64(e.All)
	return float64(e.Factual) / n * (1 - float64(e.Vague)/n)
}

// MemoryQuality is R2 (Eq. 2).
func (o StageOptions) MemoryQuality(e Entries) float64 {
	g := e.Composite()
	return -o.Penalty*(1-g) + o.Bonus*g
}

// Gating counts a filter's decisions on labelled turns.
type Gating struct{ Kept, KeptRight, Salient int }

// Quality is kappa, 0 to 1: a weighted mean of precision and recall. Recall weighs more, because a missed turn is
// worse than an extra one. Without kept turns the precision is 1, without salient turns the recall is 1.
func (o StageOptions) Quality(g Gating) float64 {
	share := func(part, whole int) float64 {
		if whole == 0 {
			return 1
		}
		return float64(part) / float64(whole)
	}
	return (1-o.FilterRecall)*share(g.KeptRight, g.Kept) + o.FilterRecall*share(g.KeptRight, g.Salient)
}

// UtilizationAndFilter is R3 (Eq. 3). utilization is mu, the usefulness of the profile for the question, 0 to 1
// (E.3).
func (o StageOptions) UtilizationAndFilter(utilization float64, g Gating) float64 {
	return o.Utilization*utilization + o.Filter*o.Quality(g)
}

// Stages are the parts of an episode's reward.
type Stages struct{ R1, R2, R3 float64 }

// Stage is the stage that loses a fact on its way into an answer.
type Stage string

// The stages of the gated attribution (SaliMory, 5.3). The first stage without the content has the failure.
const (
	StageNone    Stage = "none"
	StageMemory  Stage = "memory"
	StageProfile Stage = "profile"
	StageAnswer  Stage = "answer"
)

// Attribute finds the first of bank, profile and answer without the wanted content: its share of the keywords is
// below least. It compares content. A bank with an entry of the right turn, but without the fact, has lost the fact.
func Attribute(keywords []string, bank, profile []string, answer string, least float64) Stage {
	for _, at := range []struct {
		stage Stage
		texts []string
	}{{StageMemory, bank}, {StageProfile, profile}, {StageAnswer, []string{answer}}} {
		if Coverage(keywords, at.texts) < least {
			return at.stage
		}
	}
	return StageNone
}

// Coverage is the greatest share of keywords in one of the texts, in any inflection.
func Coverage(keywords, texts []string) float64 {
	best := 0.0
	for _, t := range texts {
		best = max(best, fidelity(Entry{Text: t}, Entry{Keywords: keywords}, ""))
	}
	return best
}
