package training

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/mneme-memory/mneme/shared/model/classifier"
)

// Recipe is the training of a shipped classifier.
type Recipe struct {
	Name string
	// File is the path of the shipped model in the repository.
	File string
	// Short and About describe the training to its users.
	Short, About string
	// Options points to the options. They begin with the options of the shipped model.
	Options any
	// Train trains a model with the options. An option out of range is a terminal error.
	Train func(context.Context) (Made, error)
}

// Made is a trained model.
type Made struct {
	// File has the bytes of the model's file.
	File []byte
	// Record has the options, the data and the figures of the training.
	Record any
	// Threshold is the least score of a positive text. It is 0 for a model that only scores.
	Threshold float64
}

func recipe[O any](name, file, short, about string, defaults O, train func(context.Context, O) (Made, error)) Recipe {
	options := &defaults
	return Recipe{name, file, short, about, options, func(ctx context.Context) (Made, error) {
		if err := check(*options); err != nil {
			return Made{}, err
		}
		return train(ctx, *options)
	}}
}

// Recipes returns the trainings of all shipped classifiers.
func Recipes() []Recipe {
	return []Recipe{
		recipe("filter", "shared/formation/saliency/model.json", "Train the saliency filter",
			"a network of the value of turns for memory, on labelled and on made-up dialogues. The threshold\n"+
				"keeps a share of the turns that later requests need.",
			FilterOptions{Seed: 1, Persons: 44, Recall: 0.975, RecallWeight: 0.6, Descent: Descent{4, 0.05, 2e-3}}, Filter),
		recipe("commitment", "shared/formation/saliency/commitment.json",
			"Train the model of what an assistant commits itself to",
			"a network of an assistant's sentences that say what it has done, noted or promised, on labelled sentences.",
			CommitmentOptions{Seed: 1, Passing: .01, Descent: Descent{30, 0.05, 1e-3}}, Commitment),
		recipe("constraint", "shared/formation/constraint/model.json", "Train the model of constraints",
			"a network of the memories that bind and stand, for the core block, on labelled statements and on statements "+
				"from patterns.",
			ConstraintOptions{Seed: 1, Phrased: 2000, Passing: 0.05, Descent: Descent{10, 0.05, 4e-3}}, Constraint),
		recipe("moment", "shared/formation/moment/model.json", "Train the model of what matters for the moment only",
			"a regression over words that separates statements for working memory only from lasting ones, on\n"+
				"labelled statements and dialogues. The threshold is above every lasting statement.",
			MomentOptions{Cost: 2, Holders: 31, Repeats: 15}, Moment),
		recipe("standing", "shared/ranking/standing/model.json", "Train the model of what requests have to respect",
			"a regression over words that separates preferences, habits and limits from other talk, on labelled\n"+
				"dialogues. The reranker's prior is trained with it.",
			standingDefaults, Standing),
		recipe("intent", "shared/query/intent/model.json", "Train the model of the time that questions are about",
			"a regression over features that separates questions about the present, the past and events, on labelled questions.",
			IntentOptions{Cost: 20, DateCost: 20, Holders: 2, FalsePast: 4}, Intent),
		recipe("quarantine", "shared/formation/quarantine/model.bin", "Train the model of attacks on the memory",
			"a regression over features that separates sentences that attack the memory from others, on labelled turns. The\n"+
				"thresholds take a share of harmless turns in parts of the data that a model was not trained on.",
			QuarantineOptions{Seed: 1, Alarms: 1. / 5000, Doubts: 1. / 20, Plain: 9000, Descent: Descent{6, 0.3, 1e-5}},
			Quarantine),
		recipe("relation", "shared/formation/relation/model.bin", "Train the model of relations",
			"a regression over features of a new statement and a stored one: what the new one does to it, on labelled "+
				"statements.",
			RelationDefaults(), trainRelation),
		recipe("judge", "shared/formation/relation/crossencoder/choice.json",
			"Choose how sure the models of relations have to be",
			"the temperature and the thresholds of the models of relations together, on statements that none of them was "+
				"trained on.",
			JudgeDefaults(), trainJudge),
		recipe("support", "shared/ranking/features/support.json", "Train the model of when the embedded answer abstains",
			"the weights of whether the found memories answer a question, on made-up conversations with questions\n"+
				"about the wrong person. It takes some minutes. It rests on the reranker's shared prior: train it\n"+
				"after that.",
			SupportOptions{Seed: 1, Conversations: 24, Cost: 1.25}, Support),
		recipe("relevance", "shared/ranking/features/relevance.json",
			"Train the model of how likely a request needs what was found",
			"the reliability of the reranker's scores, for the floor under what profiles of requests show, on\n"+
				"labelled dialogues. It rests on the reranker's shared prior: train it after that.",
			RelevanceOptions{Dialogues: []int{1, 3, 8, dialoguesAUser}, Users: 200}, Relevance),
	}
}

// made puts the record into a model and encodes it, with an indent or on one line.
func made(model any, header *classifier.Header, record any, threshold float64, indent string) (Made, error) {
	training, err := json.Marshal(record)
	if err != nil {
		return Made{}, fmt.Errorf("record training: %w", err)
	}
	header.Training = training
	data, err := json.Marshal(model)
	if indent != "" {
		data, err = json.MarshalIndent(model, "", indent)
	}
	if err != nil {
		return Made{}, fmt.Errorf("encode model: %w", err)
	}
	return Made{append(data, '\n'), record, threshold}, nil
}

// scoreOfShare returns the score that a share of the scores exceeds.
func scoreOfShare(scores []float64, share float64) float64 {
	slices.Sort(scores)
	return scores[len(scores)-1-int(share*float64(len(scores)))]
}

// thresholdAbove returns the threshold that lets a share of the scores pass.
func thresholdAbove(scores []float64, share float64) float64 {
	return probability4(rounded(scoreOfShare(scores, share) + 1e-4))
}

// probability4 keeps a threshold between 0 and 1, in four decimals.
func probability4(x float64) float64 { return min(0.9999, max(1e-4, x)) }

// rounded keeps four decimals, so that the rounding differences of processors do not reach the file.
func rounded(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// auc is the probability that an element of first scores above an element of others. A tie counts half.
func auc(first, others []float64) float64 {
	if len(first) == 0 || len(others) == 0 {
		return 0
	}
	slices.Sort(others)
	sum := 0.0
	for _, s := range first {
		below, _ := slices.BinarySearch(others, s)
		upTo, _ := slices.BinarySearch(others, math.Nextafter(s, math.Inf(1)))
		sum += float64(below+upTo) / 2
	}
	return rounded(sum / float64(len(first)) / float64(len(others)))
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func share(part, whole int) float64 { return rounded(float64(part) / float64(max(1, whole))) }
