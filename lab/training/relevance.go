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
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// RelevanceOptions say what the model of relevance is trained on.
type RelevanceOptions struct {
	// Dialogues is how many dialogues a user has; relevance is learned on the users of each.
	Dialogues []int
	// Users is how many users of each size are learned from at most.
	Users int
}

// RelevanceDefaults are what the model in the binary is trained with: of users who told little as well as of those who told much.
func RelevanceDefaults() RelevanceOptions {
	return RelevanceOptions{Dialogues: []int{1, 3, 8, dialoguesAUser}, Users: 200}
}

// RelevanceReport says what the model was trained on and what it says of what was held out.
type RelevanceReport struct {
	// Requests were learned from.
	Requests int `json:"requests"`
	// Heldout has a row for each number of dialogues, on users who were held out.
	Heldout []RelevanceFigures `json:"heldout"`
}

// RelevanceFigures compare what the model says with what is: of the likeliest five memories, the chance in all that one of them is needed,
// and the share of what requests need that they are. Shares are 0 to 1.
type RelevanceFigures struct {
	Dialogues int     `json:"dialogues"`
	Requests  int     `json:"requests"`
	Said      float64 `json:"said"`
	Is        float64 `json:"is"`
}

// Relevance trains the model of how likely a request needs what was found: its one weight is how far the prior's scores can be trusted
// (temperature scaling), learned listwise on requests of users of different sizes. What stands is scored by models that did not learn
// from its writer. The same options and prior give the same model. Options out of range are terminal errors.
func Relevance(ctx context.Context, o RelevanceOptions) (ranking.Prior, RelevanceReport, error) {
	var report RelevanceReport
	if o.Users < 1 || o.Users > maxConversations {
		return ranking.Prior{}, report, fault.Terminal("users", "is %d, want 1 to %d", o.Users, maxConversations)
	}
	if len(o.Dialogues) == 0 || slices.Min(o.Dialogues) < 1 {
		return ranking.Prior{}, report, fault.Terminal("dialogues", "is %v, want one number or more, each at least 1", o.Dialogues)
	}
	prior, err := features.Prior()
	if err != nil {
		return ranking.Prior{}, report, err
	}
	models, err := leaveOneOut(StandingDefaults())
	if err != nil {
		return ranking.Prior{}, report, err
	}
	var examples []ranking.Example
	for _, n := range o.Dialogues {
		some, err := rated(ctx, corpus.Train, n, o.Users, models, prior.Weights)
		if err != nil {
			return ranking.Prior{}, report, err
		}
		examples = append(examples, some...)
	}
	report.Requests = len(examples)
	options := ranking.DefaultPretrainOptions(features.RelevanceSet)
	options.L2, options.Temperature = 0.01, 1
	weights, err := ranking.Pretrain(ctx, examples, options)
	if err != nil {
		return ranking.Prior{}, report, err
	}
	for _, n := range o.Dialogues {
		held, err := rated(ctx, corpus.Heldout, n, o.Users, nil, prior.Weights)
		if err != nil {
			return ranking.Prior{}, report, err
		}
		f, err := compare(held, weights)
		if err != nil {
			return ranking.Prior{}, report, err
		}
		f.Dialogues = n
		report.Heldout = append(report.Heldout, f)
	}
	return ranking.Prior{Names: features.RelevanceNames(), Weights: weights}, report, nil
}

// rated are the requests of users with so many dialogues, with the numbers of all that could be shown.
func rated(
	ctx context.Context, split corpus.Split, dialogues, most int, models writers, prior ranking.Weights,
) ([]ranking.Example, error) {
	users, err := Requesters(split, dialogues)
	if err != nil {
		return nil, err
	}
	all, err := rehearsal.Rehearse(ctx, builtin.New(), users[:min(len(users), most)], prior.W, 0,
		func(_ dataset.Subject, r rehearsal.Rehearsed) (ranking.Example, error) {
			models.score(r)
			e := ranking.Example{Relevant: r.Example.Relevant}
			for i, c := range r.Candidates {
				c.Features = r.Example.Features[i]
				e.Features = append(e.Features, features.RelevanceNumbers(c, prior))
			}
			return e, nil
		})
	return slices.Concat(all...), err
}

// compare fills in what the model says of requests, and what is.
func compare(held []ranking.Example, w ranking.Weights) (RelevanceFigures, error) {
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

// softmax are the shares of scores.
func softmax(scores []float64) []float64 {
	all := floats.LogSumExp(scores)
	out := make([]float64, len(scores))
	for i, s := range scores {
		out[i] = math.Exp(s - all)
	}
	return out
}
