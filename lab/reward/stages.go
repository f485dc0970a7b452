package reward

import (
	"github.com/mneme-memory/mneme/shared/fault"
)

// StageOptions are SaliMory's weights (Table 6).
type StageOptions struct {
	// Personalization is what answering in a user's own way adds to a right answer (lambda_p).
	Personalization float64
	// Penalty and Bonus are of memory quality (lambda_pen, lambda_bon). The paper's text has the penalty three times the bonus, its table
	// 0.5 and 0.3.
	Penalty, Bonus float64
	// Utilization and Filter weigh the two parts of R3 (lambda_mu, lambda_kappa), FilterRecall what of the filter's is recall (w_r).
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
		"personalization": o.Personalization, "penalty": o.Penalty, "bonus": o.Bonus, "utilization": o.Utilization, "filter": o.Filter,
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

// Response is what a judge says of an answer (SaliMory, E.1).
type Response struct {
	// Accuracy is how right it is, 0 to 1.
	Accuracy float64
	// Personalization is how well it uses what is known of the user, 0 to 1; it counts only where Applicable.
	Personalization float64
	Applicable      bool
}

// ResponseQuality is R1 (Eq. 1): what is wrong is worth nothing however personal it is.
func (o StageOptions) ResponseQuality(r Response) float64 {
	if !r.Applicable {
		return r.Accuracy
	}
	return r.Accuracy * (1 + o.Personalization*r.Personalization)
}

// Entries is what a judge says of a bank (SaliMory, E.2): of so many entries so many are faithful to what was said, and so many too
// vague to be of use.
type Entries struct{ All, Factual, Vague int }

// Composite is gamma, 0 to 1: the share of what is faithful, less what of it is vague. Of no entries it is 1, as the judge's instructions
// have it: so forming nothing is the best there is by this reward alone.
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

// Gating is what a filter did with turns whose worth is known.
type Gating struct{ Kept, KeptRight, Salient int }

// Quality is kappa, 0 to 1: precision and recall, the latter weighed more, because a missed turn is worse than an extra one. Where
// nothing was kept the precision is 1, and where nothing is salient the recall.
func (o StageOptions) Quality(g Gating) float64 {
	share := func(part, whole int) float64 {
		if whole == 0 {
			return 1
		}
		return float64(part) / float64(whole)
	}
	return (1-o.FilterRecall)*share(g.KeptRight, g.Kept) + o.FilterRecall*share(g.KeptRight, g.Salient)
}

// UtilizationAndFilter is R3 (Eq. 3): utilization is mu, how well the profile serves the question, 0 to 1 (E.3).
func (o StageOptions) UtilizationAndFilter(utilization float64, g Gating) float64 {
	return o.Utilization*utilization + o.Filter*o.Quality(g)
}

// Stages are the parts of an episode's reward.
type Stages struct{ R1, R2, R3 float64 }

// Total is the reward of the episode.
func (s Stages) Total() float64 { return s.R1 + s.R2 + s.R3 }

// Stage is where something that was said was lost on its way into an answer.
type Stage string

// The stages of the gated attribution (SaliMory, 5.3): the first at which the content is missing has the failure.
const (
	StageNone    Stage = "none"
	StageMemory  Stage = "memory"
	StageProfile Stage = "profile"
	StageAnswer  Stage = "answer"
)

// Attribute finds the first of bank, profile and answer that does not tell what was wanted: the share of keywords that it tells is below
// least. It goes by content: a bank that has an entry of the right turn which leaves the matter out has lost it all the same.
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

// Coverage is the greatest share of keywords that one of the texts tells, in whatever inflection.
func Coverage(keywords, texts []string) float64 {
	best := 0.0
	for _, t := range texts {
		best = max(best, fidelity(Entry{Text: t}, Entry{Keywords: keywords}, ""))
	}
	return best
}
