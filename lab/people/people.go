// Package people measures formation on made-up people with known truth, and on hand-written cases.
package people

import (
	"context"
	"fmt"
	"io"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/model/embedding"
)

// Options select the made-up people and the formers of their memories.
type Options struct {
	Variants []formation.Variant
	Embedder embedding.Embedder
	// Seed draws the people. No model was trained on seeds from 1000 on.
	Seed uint64
	// Persons is the number of people of each kind.
	Persons int
	// Progress gets a line for each variant. It may be nil.
	Progress io.Writer
}

// Report has the measures of one variant by the kind of people.
type Report struct {
	Strategy string `json:"strategy"`
	Policy   string `json:"policy"`
	// Trained has people with names, values and phrasings of the training data. OtherWords has people without any of
	// these.
	Trained    formation.Measures `json:"trained_words"`
	OtherWords formation.Measures `json:"other_words"`
	// Typed has people with sentences that writers of the training data typed. OtherTyped has sentences of other
	// writers.
	Typed      formation.Measures `json:"typed"`
	OtherTyped formation.Measures `json:"typed_other_writers"`
}

// Evaluate makes four kinds of people, forms their memories by each variant, and measures the memories.
func Evaluate(ctx context.Context, o Options) ([]Report, error) {
	var out []Report
	for _, v := range o.Variants {
		if o.Progress != nil {
			fmt.Fprintf(o.Progress, "%s, %s ...\n", v.Strategy, v.Policy)
		}
		r := Report{Strategy: v.Strategy, Policy: v.Policy}
		for _, kind := range []struct {
			words    synthesis.Split
			writers  corpus.Split
			typed    bool
			measures *formation.Measures
		}{
			{synthesis.SplitTrain, corpus.Train, false, &r.Trained},
			{synthesis.SplitHeldout, corpus.Heldout, false, &r.OtherWords},
			{synthesis.SplitTrain, corpus.Train, true, &r.Typed},
			{synthesis.SplitHeldout, corpus.Heldout, true, &r.OtherTyped},
		} {
			subjects, err := makePeople(o, kind.words, kind.writers, kind.typed)
			if err != nil {
				return nil, err
			}
			if *kind.measures, err = v.Measure(ctx, o.Embedder, subjects); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", v.Strategy, v.Policy, err)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// makePeople makes people. Typed ones use the sentences of a split's writers.
func makePeople(o Options, words synthesis.Split, writers corpus.Split, typed bool) ([]dataset.Subject, error) {
	options := synthesis.Options{Seed: o.Seed, Persons: o.Persons, Split: words}
	if typed {
		phrasings, err := corpus.Phrasings(writers)
		if err != nil {
			return nil, err
		}
		options.Phrasings = phrasings
	}
	g, err := synthesis.New(options)
	if err != nil {
		return nil, err
	}
	out := make([]dataset.Subject, o.Persons)
	for i := range out {
		out[i] = g.Person(i).Subject("evaluation")
	}
	return out, nil
}
