package training

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/embedded/link"
	"github.com/mneme-memory/mneme/shared/model/embedding"
)

// Bounds of ChangesOptions, against mistakes rather than needs.
const (
	maxChangesPersons = 10_000
	maxRounds         = 10
)

// From when a pair counts as a change while a labeller judges, and while a model is watched; neither is an option, so that Threshold may
// be chosen after the training without another one.
const (
	labelledThreshold = 0.1
	watchedThreshold  = 0.2
)

// ChangesOptions say what the model of changes is trained on.
type ChangesOptions struct {
	// Seed and Persons choose the made-up people of the training split.
	Seed    uint64
	Persons int
	// Rounds is how often they are gone through: first with the truth as judge, then with the model of the round before, whose banks have
	// its mistakes.
	Rounds int
	// Threshold is the probability from which a pair counts as a change.
	Threshold float64
	// Trees are the model's options.
	Trees link.Options
}

// ChangesDefaults are what the model in the binary was trained with.
func ChangesDefaults() ChangesOptions {
	return ChangesOptions{Seed: 1, Persons: 90, Rounds: 2, Threshold: 0.15, Trees: link.DefaultOptions()}
}

func (o ChangesOptions) check() error {
	switch {
	case o.Persons < 1 || o.Persons > maxChangesPersons:
		return fault.Terminal("persons", "is %d, want 1 to %d", o.Persons, maxChangesPersons)
	case o.Rounds < 1 || o.Rounds > maxRounds:
		return fault.Terminal("rounds", "is %d, want 1 to %d", o.Rounds, maxRounds)
	case o.Threshold <= 0 || o.Threshold >= 1:
		return fault.Terminal("threshold", "is %g, want more than 0 and less than 1", o.Threshold)
	}
	return nil
}

// Changes trains the embedded policy's model of changes: made-up people's sessions are formed, and every pair that the judge was asked
// about is an example, labelled by the truth. The same options give the same model. Options out of range are terminal errors.
func Changes(ctx context.Context, e embedding.Embedder, o ChangesOptions) (*link.Model, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	g, err := synthesis.New(synthesis.Options{Seed: o.Seed, Persons: o.Persons, Split: synthesis.SplitTrain})
	if err != nil {
		return nil, err
	}
	var model *link.Model
	var examples []link.Example
	for range o.Rounds {
		seen, err := labelled(ctx, g, e, o, model)
		if err != nil {
			return nil, err
		}
		examples = append(examples, seen...)
		if len(examples) == 0 {
			return nil, errors.New("nothing to train on")
		}
		model = link.Train(embedded.Features(), examples, o.Trees)
	}
	model.Threshold, model.Trained.Seed, model.Trained.Persons, model.Trained.Rounds = o.Threshold, o.Seed, o.Persons, o.Rounds
	return model, nil
}

// labelled forms the sessions of the training people, judged by a model or, without one, by a labeller, and returns what was judged.
func labelled(
	ctx context.Context, g *synthesis.Generator, e embedding.Embedder, o ChangesOptions, model *link.Model,
) ([]link.Example, error) {
	examples := make([][]link.Example, o.Persons)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range o.Persons {
		group.Go(func() error {
			t := newLabeller(g.Person(i).Subject("training"), rand.New(rand.NewPCG(o.Seed, uint64(i))))
			judge, threshold := t.judge, labelledThreshold
			if model != nil {
				judge, threshold = t.watch(model), watchedThreshold
			}
			former := embedded.NewFormerWith(embedded.IdentityOf("salimory"), judge, threshold)
			formed, err := formation.Pipeline{Former: former, Embedder: e}.Form(ctx, t.subject)
			examples[i] = t.examples
			return errors.Join(err, formed.Complete())
		})
	}
	err := group.Wait()
	return slices.Concat(examples...), err
}
