package evaluation

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/embedded/link"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/text"
)

// maxTrainingPersons bounds TrainChanges, against mistakes rather than needs.
const maxTrainingPersons = 10_000

// watchedThreshold is from when a pair counts as a change while a model is watched; it is not an option, so that Threshold may be chosen after
// the training without another one.
const watchedThreshold = 0.2

// maxTrainingRounds bounds TrainingOptions.Rounds.
const maxTrainingRounds = 10

// TrainingOptions say what the model of changes is trained on.
type TrainingOptions struct {
	// Seed and Persons choose the made-up people of the training split.
	Seed    uint64
	Persons int
	// Rounds is how often they are gone through: first with the truth as judge, then with the model of the round before, whose banks have its mistakes.
	Rounds int
	// Threshold is the probability from which a pair counts as a change.
	Threshold float64
	// Trees are the model's options.
	Trees link.Options
}

// TrainingDefaults are what the model in the binary was trained with.
func TrainingDefaults() TrainingOptions {
	return TrainingOptions{Seed: 1, Persons: 90, Rounds: 2, Threshold: 0.15, Trees: link.DefaultOptions()}
}

func (o TrainingOptions) check() error {
	switch {
	case o.Persons < 1 || o.Persons > maxTrainingPersons:
		return fault.Terminal("persons", "is %d, want 1 to %d", o.Persons, maxTrainingPersons)
	case o.Rounds < 1 || o.Rounds > maxTrainingRounds:
		return fault.Terminal("rounds", "is %d, want 1 to %d", o.Rounds, maxTrainingRounds)
	case o.Threshold <= 0 || o.Threshold >= 1:
		return fault.Terminal("threshold", "is %g, want more than 0 and less than 1", o.Threshold)
	}
	return nil
}

// TrainChanges trains the embedded policy's model of changes: made-up people's sessions are formed, and every pair that the judge was asked about
// is an example, labelled by the truth. The same options give the same model. Options out of range are terminal errors.
func TrainChanges(ctx context.Context, e embedding.Embedder, o TrainingOptions) (*link.Model, error) {
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
		seen, err := lessons(ctx, g, e, o, model)
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

// lessons forms the sessions of the training people, judged by a model or, without one, by the truth, and returns what was judged.
func lessons(ctx context.Context, g *synthesis.Generator, e embedding.Embedder, o TrainingOptions, model *link.Model) ([]link.Example, error) {
	taught := make([][]link.Example, o.Persons)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range o.Persons {
		group.Go(func() error {
			t := newTeacher(FromSynthesis(g.Person(i), "training"))
			t.slips = rand.New(rand.NewPCG(o.Seed, uint64(i)))
			judge, threshold := t.judge, 0.1
			if model != nil {
				judge, threshold = t.watch(model), watchedThreshold
			}
			_, err := Pipeline{Former: embedded.NewFormerWith(embedded.IdentityOf("salimory"), judge, threshold), Embedder: e}.Form(ctx, t.subject)
			taught[i] = t.examples
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(taught...), err
}

// Oracle is a judge that knows the truth of a subject: what is missed with it is lost before a pair is judged.
func Oracle(s Subject) embedded.Judge { return newTeacher(s).judge }

// teacher judges by the truth, and keeps what it was asked.
type teacher struct {
	subject  Subject
	told     map[string][]int
	examples []link.Example
	// slips makes it err now and then, so that the model also learns on banks that are not as they should be; nil for never.
	slips *rand.Rand
}

// How often the teacher errs.
const (
	slipMissed = 0.2
	slipJoined = 0.02
)

func newTeacher(s Subject) *teacher {
	t := &teacher{subject: s, told: map[string][]int{}}
	for i, target := range s.Targets {
		for _, turn := range target.Turns {
			t.told[turn] = append(t.told[turn], i)
		}
	}
	return t
}

// watch returns a judge that asks a model, while the teacher notes what would have been right.
func (t *teacher) watch(m *link.Model) embedded.Judge {
	return func(p embedded.Pair) float64 {
		t.examples = append(t.examples, link.Example{X: p.X, Y: t.right(p)})
		return m.Probability(p.X)
	}
}

func (t *teacher) judge(p embedded.Pair) float64 {
	right := t.right(p)
	t.examples = append(t.examples, link.Example{X: p.X, Y: right})
	slip := t.slips != nil && t.slips.Float64() < slipJoined
	missed := t.slips != nil && t.slips.Float64() < slipMissed
	switch {
	case right == rightAtAll && !missed:
		return 1
	case right > 0 && !missed:
		return 0.9
	case slip:
		return 0.2 // below what replaces: the entries are joined
	}
	return 0
}

// How right a pair may be: the entry tells what the update is about, or it tells something that was untrue already, or says again what the update
// is about. The latter are closed along with the first, but they are not to be taken for it.
const (
	rightAtAll = 1.0
	rightToo   = 0.7
)

// right reports how well the statement tells an update of what the entry tells.
func (t *teacher) right(p embedded.Pair) float64 {
	said, known := text.StemSet(p.Statement), text.StemSet(p.Entry.Content)
	best := 0.0
	for _, turn := range p.Sources {
		for _, i := range t.told[turn] {
			target := t.subject.Targets[i]
			if !isUpdate(target) || shareOf(target.Words, said) == 0 {
				continue
			}
			tells := func(before Target) bool {
				return intersect(p.Entry.Sources, before.Turns) && shareOf(before.Words, known) > 0
			}
			switch {
			case tells(t.subject.Targets[target.Predecessor]):
				return rightAtAll
			case slices.ContainsFunc(t.past(i), tells):
				best = rightToo
			}
		}
	}
	return best
}

// past returns what an update leaves untrue: its predecessor, what came before that, and every repetition of these that was told by then.
func (t *teacher) past(update int) []Target {
	var out []Target
	for i := t.subject.Targets[update].Predecessor; i >= 0; i = t.subject.Targets[i].Predecessor {
		out = append(out, t.subject.Targets[i])
		for _, again := range t.subject.Targets[:update] {
			if again.Predecessor == i && again.Operation == memory.OpNone {
				out = append(out, again)
			}
		}
	}
	return out
}
