package training

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/supervised"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/lab/synthesis/questions"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// SupportOptions are the training options of the model of support.
type SupportOptions struct {
	Seed uint64 `json:"seed" use:"chooses the conversations"`
	// The held-out conversations are in separate words.
	Conversations int `json:"conversations" range:"[1,2000]" use:"conversations to learn from; a quarter as many again are held out"`
	// Odds below Cost to 1 give log odds below 0.
	Cost float64 `json:"cost" range:"[0.01,100]" use:"what an answer about the wrong person costs, beside 1 for one that is withheld wrongly"`
}

// SupportReport describes the training data of the model and its results on held-out data.
type SupportReport struct {
	Seed          uint64 `json:"seed"`
	Conversations int    `json:"conversations"`
	// Answerable and Mistaken count the training questions. Answerable counts only questions with shown evidence.
	Answerable int `json:"answerable"`
	Mistaken   int `json:"mistaken"`
	// Abstention is the share of the held-out mistaken questions without support. FalseAbstention is the same share
	// of the answerable questions.
	Abstention      float64 `json:"heldout_abstention"`
	FalseAbstention float64 `json:"heldout_false_abstention"`
}

// Support trains the model of whether the found memories answer a question. It is a logistic regression over
// features.SupportNumbers. It learns from questions about made-up conversations and from mistaken questions. A
// mistaken question swaps the two people, where the other person told nothing about it: about one in three. The same
// options and prior give the same model.
func Support(ctx context.Context, o SupportOptions) (Made, error) {
	report := &SupportReport{Seed: o.Seed, Conversations: o.Conversations}
	learned, err := judged(ctx, questions.Options{Seed: o.Seed, Conversations: o.Conversations,
		Split: synthesis.SplitTrain})
	if err != nil {
		return Made{}, err
	}
	var sorts [2][]supervised.Example // mistaken and answerable questions
	none := make([]float32, len(features.SupportNames()))
	for _, j := range learned {
		switch {
		case j.mistaken:
			sorts[0] = append(sorts[0], supervised.Example{Features: [][]float32{j.numbers, none},
				Relevant: []bool{false, true}})
		case j.found: // memories that are not shown look the same as missing ones
			sorts[1] = append(sorts[1], supervised.Example{Features: [][]float32{j.numbers, none},
				Relevant: []bool{true, false}})
		}
	}
	report.Mistaken, report.Answerable = len(sorts[0]), len(sorts[1])
	options := supervised.DefaultPretrainOptions(features.SupportSet)
	options.L2, options.Temperature = 0.01, 1
	weights, err := supervised.Pretrain(ctx, slices.Concat(sorts[:]...), options)
	if err != nil {
		return Made{}, err
	}
	weights.W[0] -= float32(math.Log(o.Cost)) // the constant
	held, err := judged(ctx, questions.Options{
		Seed: o.Seed + heldOutSeed, Conversations: (o.Conversations + 3) / 4, Split: synthesis.SplitHeldout,
	})
	if err != nil {
		return Made{}, err
	}
	if err := report.measure(held, weights); err != nil {
		return Made{}, err
	}
	return madeScores(features.SupportNames(), weights, report)
}

// madeScores encodes the weights of numbers that rest on the ranker's prior.
func madeScores(names []string, weights ranking.Weights, report any) (Made, error) {
	file, err := ranking.EncodePrior(ranking.Prior{Names: names, Weights: weights})
	return Made{File: file, Record: report}, err
}

// judgedQuestion is a question with the numbers of its found memories.
type judgedQuestion struct {
	numbers []float32
	// mistaken is true when the question names the wrong person. found is true when the shown memories answer it.
	mistaken, found bool
}

// judged forms all conversations and searches for each of their questions.
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
			s.Questions[i].Unanswerable = false // so that they are asked: their evidence is the misleading turn
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

// measure fills in the results on held-out questions.
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
