package training

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/supervised"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// RelevanceOptions are the data options of the model of relevance.
type RelevanceOptions struct {
	Dialogues []int `json:"dialogues" range:"[1,]" use:"dialogues of a user; users of each number are learned from"`
	Users     int   `json:"users" range:"[1,2000]" use:"users of each number of dialogues at most"`
}

// RelevanceReport describes the training data of the model and its results on held-out data.
type RelevanceReport struct {
	// Requests counts the training requests.
	Requests int `json:"requests"`
	// Heldout has a row for each number of dialogues, measured on held-out users.
	Heldout []RelevanceFigures `json:"heldout"`
}

// RelevanceFigures compare the model's predictions with the truth, for the likeliest five memories. They have the
// chance that at least one is needed, and the share of the needed memories among the five. Shares are 0 to 1.
type RelevanceFigures struct {
	Dialogues int     `json:"dialogues"`
	Requests  int     `json:"requests"`
	Said      float64 `json:"said"`
	Is        float64 `json:"is"`
}

// Relevance trains the model of how likely a request needs a found memory. Its one weight is the reliability of the
// prior's scores (temperature scaling). It is learned listwise on requests of users of different sizes. Models
// trained without a writer score the writer's standing facts. The same options and prior give the same model.
func Relevance(ctx context.Context, o RelevanceOptions) (Made, error) {
	report := &RelevanceReport{}
	prior, err := features.Prior()
	if err != nil {
		return Made{}, err
	}
	models, err := leaveOneOut(standingDefaults)
	if err != nil {
		return Made{}, err
	}
	var examples []supervised.Example
	for _, n := range o.Dialogues {
		some, err := rated(ctx, corpus.Train, n, o.Users, models, prior.Weights)
		if err != nil {
			return Made{}, err
		}
		examples = append(examples, some...)
	}
	report.Requests = len(examples)
	options := supervised.DefaultPretrainOptions(features.RelevanceSet)
	options.L2, options.Temperature = 0.01, 1
	weights, err := supervised.Pretrain(ctx, examples, options)
	if err != nil {
		return Made{}, err
	}
	for _, n := range o.Dialogues {
		held, err := rated(ctx, corpus.Heldout, n, o.Users, nil, prior.Weights)
		if err != nil {
			return Made{}, err
		}
		f, err := compare(held, weights)
		if err != nil {
			return Made{}, err
		}
		f.Dialogues = n
		report.Heldout = append(report.Heldout, f)
	}
	return madeScores(features.RelevanceNames(), weights, report)
}

// rated returns the requests of users with a given number of dialogues, each with the numbers of all candidates.
func rated(
	ctx context.Context, split corpus.Split, dialogues, most int, models writers, prior ranking.Weights,
) ([]supervised.Example, error) {
	users, err := Requesters(split, dialogues)
	if err != nil {
		return nil, err
	}
	all, err := rehearsal.Rehearse(ctx, builtin.New(), users[:min(len(users), most)], prior.W, 0,
		func(_ dataset.Subject, r rehearsal.Rehearsed) (supervised.Example, error) {
			models.score(r)
			e := supervised.Example{Relevant: r.Example.Relevant}
			for i, c := range r.Candidates {
				c.Features = r.Example.Features[i]
				e.Features = append(e.Features, features.RelevanceNumbers(c, prior))
			}
			return e, nil
		})
	return slices.Concat(all...), err
}

// compare fills in the model's predictions and the truth.
func compare(held []supervised.Example, w ranking.Weights) (RelevanceFigures, error) {
	const likeliest = 5
	var f RelevanceFigures
	for _, e := range held {
		if !slices.Contains(e.Relevant, true) {
			continue
		}
		candidates := make([]ranking.Candidate, len(e.Features))
		for i := range candidates {
			candidates[i].Features = e.Features[i]
		}
		scores, err := w.Scores(nil, candidates)
		if err != nil {
			return f, fmt.Errorf("say how likely what was held out is: %w", err)
		}
		shares := softmax(scores)
		f.Requests++
		needed := 0.0
		for _, r := range e.Relevant {
			if r {
				needed++
			}
		}
		for _, i := range ranking.Top(candidates, scores, min(likeliest, len(scores))) {
			f.Said += shares[i]
			if e.Relevant[i] {
				f.Is += 1 / needed
			}
		}
	}
	f.Said, f.Is = f.Said/float64(f.Requests), f.Is/float64(f.Requests)
	return f, nil
}

// softmax returns the shares of scores.
func softmax(scores []float64) []float64 {
	all := floats.LogSumExp(scores)
	out := make([]float64, len(scores))
	for i, s := range scores {
		out[i] = math.Exp(s - all)
	}
	return out
}
