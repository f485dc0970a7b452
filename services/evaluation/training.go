package evaluation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/embedding"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/embedded/link"
	"github.com/mneme-memory/mneme/shared/language"
	"github.com/mneme-memory/mneme/shared/synthesis"
)

// maxTrainingPersons bounds TrainChanges, against mistakes rather than needs.
const maxTrainingPersons = 10_000

// TrainingOptions say what the model of changes is trained on.
type TrainingOptions struct {
	// Seed and Persons choose the made-up people of the training split.
	Seed    uint64
	Persons int
	// Threshold is the probability from which a pair counts as a change.
	Threshold float64
	// Trees are the model's options.
	Trees link.Options
}

// TrainChanges trains the embedded policy's model of changes: made-up people's sessions are formed with the truth as judge, and every
// pair that it was asked about is an example.
func TrainChanges(ctx context.Context, e embedding.Embedder, o TrainingOptions) (*link.Model, error) {
	if o.Persons < 1 || o.Persons > maxTrainingPersons {
		return nil, fmt.Errorf("persons is %d, want 1 to %d", o.Persons, maxTrainingPersons)
	}
	g, err := synthesis.New(synthesis.Options{Seed: o.Seed, Persons: o.Persons, Split: synthesis.SplitTrain})
	if err != nil {
		return nil, err
	}
	taught := make([][]link.Example, o.Persons)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range o.Persons {
		group.Go(func() error {
			t := newTeacher(FromSynthesis(g.Person(i), "training"))
			t.slips = rand.New(rand.NewPCG(o.Seed, uint64(i)))
			former := embedded.NewFormerWith(embedded.IdentityOf("salimory"), t.judge, 0.1)
			_, err := Pipeline{Former: former, Embedder: e}.Form(ctx, t.subject)
			taught[i] = t.examples
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	examples := slices.Concat(taught...)
	if len(examples) == 0 {
		return nil, errors.New("nothing to train on")
	}
	m := link.Train(embedded.Features(), examples, o.Trees)
	m.Threshold, m.Trained.Seed, m.Trained.Persons = o.Threshold, o.Seed, o.Persons
	return m, nil
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

func (t *teacher) judge(p embedded.Pair) float64 {
	right := t.right(p)
	t.examples = append(t.examples, link.Example{X: p.X, Y: right})
	slip := t.slips != nil && t.slips.Float64() < slipJoined
	missed := t.slips != nil && t.slips.Float64() < slipMissed
	switch {
	case right && !missed:
		return 1
	case slip:
		return 0.2 // below what replaces: the entries are joined
	}
	return 0
}

// right reports whether the statement tells an update of what the entry tells.
func (t *teacher) right(p embedded.Pair) bool {
	said, known := language.StemSet(p.Statement), language.StemSet(p.Entry.Content)
	for _, turn := range p.Sources {
		for _, i := range t.told[turn] {
			target := t.subject.Targets[i]
			if !isUpdate(target) || shareOf(target.Words, said) == 0 {
				continue
			}
			before := t.subject.Targets[target.Predecessor]
			if intersect(p.Entry.Sources, before.Turns) && shareOf(before.Words, known) > 0 {
				return true
			}
		}
	}
	return false
}
