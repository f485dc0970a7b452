package recall

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// Ablation disables one part of recall.
type Ablation struct {
	// Name describes the disabled part.
	Name string
	// Features get weight 0 in all regimes when candidates are chosen and ranked. The other weights stay as they were
	// learned together with these features. So a feature looks more important than it is if other features could replace
	// it.
	Features []string
	// Maps disables the residual maps of the embeddings.
	Maps bool
	// Settings are service settings that disable a part without a weight.
	Settings map[string]string
	// Candidates is the number of fetched candidates, if the part needs one. 0 means the number used to measure the
	// order.
	Candidates int
}

// Ablations returns the parts to measure. The value of the whole reranker follows from BaselineRetrieval.
func Ablations() []Ablation {
	return []Ablation{
		{Name: "without context: neighbouring turns, session", Features: []string{
			"session", "session_best", "session_lead", "near_around", "around", "answers",
		}},
		{Name: "without word vectors", Features: []string{
			"meaning", "near_words", "near_around", "head", "focus", "answers", "around", "apart",
		}},
		{Name: "without places spread over sessions", Settings: map[string]string{"MNEME_RERANKER_SPREAD": "0"}},
		{Name: "without places for constraints and preferences", Settings: map[string]string{"MNEME_RECALL_OWN_PLACES": "0"}},
		{Name: "without the model of standing needs", Features: []string{"standing"}},
	}
}

// Cold is a Mneme without any user index, as a new or returning user meets it. It sees only the candidates of the
// bank's search. The number of candidates is the default of a recall.
func Cold() Ablation {
	return Ablation{
		Name:     "cold: no user's index is ready",
		Settings: map[string]string{"MNEME_RECALL_INDEX_SIZE": "0"}, Candidates: bank.DefaultK,
	}
}

// WithoutMaps disables the residual maps of the embeddings. Weights need not have such maps.
func WithoutMaps() Ablation { return Ablation{Name: "without residual maps", Maps: true} }

// Reweighs reports whether the ablation changes weights.
func (a Ablation) Reweighs() bool { return len(a.Features) > 0 || a.Maps }

// Prior returns the prior without the disabled part. A feature that the prior lacks is a terminal error.
func (a Ablation) Prior(from ranking.Prior) (ranking.Prior, error) {
	from.Weights = from.Weights.Clone()
	for _, name := range a.Features {
		found := false
		for _, r := range features.Regimes() {
			if i := slices.Index(from.Names, r.String()+"_"+name); i >= 0 {
				from.Weights.W[i], found = 0, true
			}
		}
		if !found {
			return ranking.Prior{}, fault.Terminal("features", "have no %q to leave out: %s", name, a.Name)
		}
	}
	if a.Maps {
		from.Weights.Aq, from.Weights.Am = nil, nil
	}
	return from, nil
}
