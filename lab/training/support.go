package training

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/lab/synthesis/questions"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// SupportOptions say what the model of support is trained on.
type SupportOptions struct {
	// Seed chooses the made-up conversations.
	Seed uint64
	// Conversations is how many are learned from; a quarter as many again, in words of their own, are held out.
	Conversations int
	// Cost is what an answer about the wrong person costs, beside 1 for one that is withheld wrongly: what is less likely than Cost to 1
	// has log odds below 0.
	Cost float64
}

// SupportDefaults are what the model in the binary is trained with.
func SupportDefaults() SupportOptions { return SupportOptions{Seed: 1, Conversations: 24, Cost: 1.25} }

// maxCost bounds SupportOptions.
const maxCost = 100

// SupportReport says what the model was trained on and what it does on what was held out.
type SupportReport struct {
	Seed          uint64 `json:"seed"`
	Conversations int    `json:"conversations"`
	// Answerable and Mistaken count the questions that were learned from; of the answerable ones, those of which something is shown.
	Answerable int `json:"answerable"`
	Mistaken   int `json:"mistaken"`
	// Abstention is the share of the mistaken questions held out that have no support, FalseAbstention that of the answerable ones.
	Abstention      float64 `json:"heldout_abstention"`
	FalseAbstention float64 `json:"heldout_false_abstention"`
}

// Support trains the model of whether what is found answers a question: a logistic regression over features.SupportNumbers, on questions
// about made-up conversations and on the same with the two people in each other's places, as far as the other told nothing of it: about one
// in three. The same options and prior give the same model. Options out of range are terminal errors.
func Support(ctx context.Context, o SupportOptions) (ranking.Prior, SupportReport, error) {
	report := SupportReport{Seed: o.Seed, Conversations: o.Conversations}
	if o.Conversations < 1 || o.Conversations > maxConversations {
		return ranking.Prior{}, report, fault.Terminal("conversations", "is %d, want 1 to %d", o.Conversations, maxConversations)
	}
	if !(o.Cost >= 1.0/maxCost && o.Cost <= maxCost) {
		return ranking.Prior{}, report, fault.Terminal("cost", "is %g, want %g to %d", o.Cost, 1.0/maxCost, maxCost)
	}
	learned, err := judged(ctx, questions.Options{Seed: o.Seed, Conversations: o.Conversations, Split: synthesis.SplitTrain})
	if err != nil {
		return ranking.Prior{}, report, err
	}
	var sorts [2][]ranking.Example // of mistaken and of answerable questions
	none := make([]float32, len(features.SupportNames()))
	for _, j := range learned {
		switch {
		case j.mistaken:
			sorts[0] = append(sorts[0], ranking.Example{Features: [][]float32{j.numbers, none}, Relevant: []bool{false, true}})
		case j.found: // what is not shown cannot be told from what was never said
			sorts[1] = append(sorts[1], ranking.Example{Features: [][]float32{j.numbers, none}, Relevant: []bool{true, false}})
		}
	}
	report.Mistaken, report.Answerable = len(sorts[0]), len(sorts[1])
	options := ranking.DefaultPretrainOptions(features.SupportSet)
	options.L2, options.Temperature = 0.01, 1
	weights, err := ranking.Pretrain(ctx, slices.Concat(sorts[:]...), options)
	if err != nil {
		return ranking.Prior{}, report, err
	}
	weights.W[0] -= float32(math.Log(o.Cost)) // the constant
	held, err := judged(ctx, questions.Options{
		Seed: o.Seed + heldOutSeed, Conversations: (o.Conversations + 3) / 4, Split: synthesis.SplitHeldout,
	})
	if err != nil {
		return ranking.Prior{}, report, err
	}
	return ranking.Prior{Names: features.SupportNames(), Weights: weights}, report, report.measure(held, weights)
}

// judgedQuestion is a question with the numbers of what is found for it.
type judgedQuestion struct {
	numbers []float32
	// mistaken is whether it asks the wrong person, found whether what is shown answers it.
	mistaken, found bool
}

// judged forms all conversations and looks at what is found for their questions.
func judged(ctx context.Context, o questions.Options) ([]judgedQuestion, error) {
	g, err := questions.New(o)
	if err != nil {
		return nil, err
	}
	prior, err := features.Prior()
	if err != nil {
		return nil, err
	}
	subjects := g.Subjects("training")
	for _, s := range subjects {
		for i := range s.Questions {
			s.Questions[i].Unanswerable = false // so that they are asked: what misleads is their evidence
		}
	}
	all, err := rehearsal.Rehearse(ctx, builtin.New(), subjects, prior.Weights.W, features.SupportDepth,
		func(_ dataset.Subject, r rehearsal.Rehearsed) (judgedQuestion, error) {
			shown := r.Example.Relevant[:min(len(r.Example.Relevant), features.SupportShown)]
			return judgedQuestion{
				numbers:  features.SupportNumbers(r.Candidates, prior.Weights.W),
				mistaken: r.Question.Category == string(questions.CategoryMistaken), found: slices.Contains(shown, true),
			}, nil
		})
	return slices.Concat(all...), err
}

// measure fills in what the model does on questions that were held out.
func (r *SupportReport) measure(held []judgedQuestion, w ranking.Weights) error {
	var mistaken, answerable, missed, refused int
	for _, j := range held {
		odds, err := w.Scores(nil, []ranking.Candidate{{Features: j.numbers}})
		if err != nil {
			return fmt.Errorf("judge what was held out: %w", err)
		}
		abstains := odds[0] < 0
		if j.mistaken {
			mistaken++
			if !abstains {
				missed++
			}
			continue
		}
		answerable++
		if abstains {
			refused++
		}
	}
	r.Abstention, r.FalseAbstention = 1-score.Share(missed, mistaken), score.Share(refused, answerable)
	return nil
}
