package recall

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// Ablation is a part of recall that can be left out.
type Ablation struct {
	// Name says what is left out.
	Name string
	// Features weigh nothing, when candidates are chosen and when they are ordered. The weights of the others stay as they are: they were
	// learned beside them, so that a part that others could learn to stand in for looks more needed than it is.
	Features []string
	// Maps says that the residual maps of the embeddings are left out.
	Maps bool
	// Settings of the services switch off what is no matter of weights.
	Settings map[string]string
	// Candidates are fetched, where their number matters; 0 for as many as where order is measured.
	Candidates int
}

// Ablations are the parts whose worth is measured. What the reranker as a whole is worth tells BaselineRetrieval.
func Ablations() []Ablation {
	return []Ablation{
		{Name: "without context: turns beside it, its session", Features: []string{
			"before_2", "before_1", "after_1", "after_2", "session", "session_best", "session_lead", "request_session", "near_around", "around",
			"answers",
		}},
		{Name: "without word vectors", Features: []string{
			"meaning", "request_meaning", "near_words", "near_around", "head", "focus", "answers", "around", "apart",
		}},
		{Name: "without places spread over sessions", Settings: map[string]string{"MNEME_RERANKER_SPREAD": "0"}},
		{Name: "without places for constraints and preferences", Settings: map[string]string{"MNEME_RECALL_OWN_PLACES": "0"}},
		{Name: "without what stands for requests", Features: []string{"standing", "request_standing"}},
	}
}

// Cold is a Mneme that never has a user's index, as it is for a user who comes for the first time or has just come back. It finds what is
// among the candidates of the bank's search; there are as many as a recall has by default.
func Cold() Ablation {
	return Ablation{
		Name:     "cold: no user's index is ready",
		Settings: map[string]string{"MNEME_RECALL_INDEX_SIZE": "0"}, Candidates: bank.DefaultK,
	}
}

// WithoutMaps leaves out the residual maps of the embeddings, which weights need not have.
func WithoutMaps() Ablation { return Ablation{Name: "without residual maps", Maps: true} }

// Reweighs says that what is left out is a matter of weights.
func (a Ablation) Reweighs() bool { return len(a.Features) > 0 || a.Maps }

// Prior is a prior without what is left out. A feature that it does not have is a terminal error.
func (a Ablation) Prior(from ranking.Prior) (ranking.Prior, error) {
	from.Weights = from.Weights.Clone()
	for _, name := range a.Features {
		i := slices.Index(from.Names, name)
		if i < 0 {
			return ranking.Prior{}, fault.Terminal("features", "have no %q, which is to be left out: %s", name, a.Name)
		}
		from.Weights.W[i] = 0
	}
	if a.Maps {
		from.Weights.Aq, from.Weights.Am = nil, nil
	}
	return from, nil
}
