package training

import (
	"context"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/evaluation/synthesis/questions"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// maxConversations bounds PriorOptions, against mistakes rather than needs.
const maxConversations = 2_000

// heldOutSeed is added to the seed for what the prior is measured on.
const heldOutSeed = 1000

// PriorOptions say what the ranker's prior is trained on, and how.
type PriorOptions struct {
	// Seed chooses the made-up conversations.
	Seed uint64
	// Conversations is how many are learned from; a quarter as many again, in words of their own, are held out.
	Conversations int
	// Rates say what the conversations are like.
	Rates questions.Rates
	// Training are the options of the training itself.
	Training ranking.PretrainOptions
}

// PriorDefaults are what the prior in the binary is trained with.
func PriorDefaults() PriorOptions {
	o := PriorOptions{Seed: 1, Conversations: 70, Rates: questions.DefaultRates()}
	o.Training = ranking.DefaultPretrainOptions(features.FeatureSet)
	// Several features say much the same; with more of a pull to zero they share the weight, and depend less on how the made talks differ
	// from real ones.
	o.Training.L2 = 0.3
	return o
}

// PriorReport says what the prior was trained on and what it does on what was held out.
type PriorReport struct {
	Seed          uint64 `json:"seed"`
	Conversations int    `json:"conversations"`
	// Questions were learned from: those of which something is remembered.
	Questions int `json:"questions"`
	// Heldout are the questions that were held out; Recall5 to Recall20 are the mean shares of their evidence that the first so many cover.
	Heldout  int     `json:"heldout_questions"`
	Recall5  float64 `json:"heldout_recall@5"`
	Recall10 float64 `json:"heldout_recall@10"`
	Recall20 float64 `json:"heldout_recall@20"`
}

// Prior trains the prior of the ranker: made-up conversations are formed into memories by the embedded policy behind the trained filter,
// and the weights are those that put first what answers the questions. The same options give the same prior. Options out of range are
// terminal errors.
func Prior(ctx context.Context, o PriorOptions) (ranking.Prior, PriorReport, error) {
	report := PriorReport{Seed: o.Seed, Conversations: o.Conversations}
	if o.Conversations < 1 || o.Conversations > maxConversations {
		return ranking.Prior{}, report, fault.Terminal("conversations", "is %d, want 1 to %d", o.Conversations, maxConversations)
	}
	learned, err := rehearse(ctx, questions.Options{
		Seed: o.Seed, Conversations: o.Conversations, Split: synthesis.SplitTrain, Rates: o.Rates,
	})
	if err != nil {
		return ranking.Prior{}, report, err
	}
	examples := make([]ranking.Example, 0, len(learned))
	for _, r := range learned {
		examples = append(examples, r.Example)
		if slices.Contains(r.Example.Relevant, true) {
			report.Questions++
		}
	}
	weights, err := ranking.Pretrain(ctx, examples, o.Training)
	if err != nil {
		return ranking.Prior{}, report, err
	}
	held, err := rehearse(ctx, questions.Options{
		Seed: o.Seed + heldOutSeed, Conversations: (o.Conversations + 3) / 4, Split: synthesis.SplitHeldout, Rates: o.Rates,
	})
	if err != nil {
		return ranking.Prior{}, report, err
	}
	return ranking.Prior{Names: features.Names(), Weights: weights}, report, report.measure(held, weights)
}

// rehearse forms all conversations and returns what could be shown for their questions, in their order.
func rehearse(ctx context.Context, o questions.Options) ([]formation.Rehearsed, error) {
	g, err := questions.New(o)
	if err != nil {
		return nil, err
	}
	unweighted := make([]float32, len(features.Names()))
	all, err := formation.Rehearse(ctx, g.Subjects("training"), unweighted, 0,
		func(_ dataset.Subject, r formation.Rehearsed) (formation.Rehearsed, error) {
			r.Candidates = nil // they would fill the memory
			return r, nil
		})
	return slices.Concat(all...), err
}

// measure fills in what weights do on questions that were held out.
func (r *PriorReport) measure(held []formation.Rehearsed, w ranking.Weights) error {
	r.Heldout = len(held)
	for _, h := range held {
		at, err := h.RecallAt(w, 5, 10, 20)
		if err != nil {
			return err
		}
		r.Recall5 += at[0] / float64(len(held))
		r.Recall10 += at[1] / float64(len(held))
		r.Recall20 += at[2] / float64(len(held))
	}
	return nil
}
