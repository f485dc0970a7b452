package reinforcement

import (
	"context"
	"strconv"
	"sync"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/formation/relation/crossencoder"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// maker makes the pipelines of one person's rollouts. They are the production formers with models that read each text
// once. Most of a session's time goes into the relations of statements, and most relations are the same in all draws.
type maker struct {
	embedder embedding.Embedder
	filter   *saliency.Filter
	judge    *remembering
	former   *salimory.Embedded
}

func newMaker(e embedding.Embedder) maker {
	t := crossencoder.ShippedJudge().Thresholds()
	judge := &remembering{session: crossencoder.ShippedJudge().Session()}
	return maker{e, saliency.NewTrained(), judge, former(judge, t.Certain, t.Possible)}
}

// former returns the strategy's former with another judge.
func former(judge embedded.Judge, closes, links float64) *salimory.Embedded {
	return &salimory.Embedded{Former: embedded.NewFormerWith(embedded.IdentityOf(salimory.Name), judge, closes, links)}
}

// withChooser returns a pipeline with a chooser for its decisions.
func (m maker) withChooser(choose decision.Chooser, version string) formation.Pipeline {
	return formation.Pipeline{
		Filter: m.filter.Deciding(choose, version), Saliency: memory.SaliencyGate,
		Former: m.former.Deciding(choose, version), Strategy: salimory.Name, Embedder: m.embedder,
	}
}

// known has people with their makers, so that several trainings on the same lives read them once. It is safe for
// concurrent use.
type known struct {
	mu sync.Mutex
	of map[string]*familiar
}

type familiar struct {
	once   sync.Once
	person *person
	maker  maker
	err    error
}

func newKnown() *known { return &known{of: map[string]*familiar{}} }

// person returns a person with its number of sessions, and a maker.
func (k *known) person(ctx context.Context, p synthesis.Person) (*person, maker, error) {
	k.mu.Lock()
	f := k.of[p.ID+"/"+strconv.Itoa(len(p.Sessions))]
	if f == nil {
		f = &familiar{}
		k.of[p.ID+"/"+strconv.Itoa(len(p.Sessions))] = f
	}
	k.mu.Unlock()
	f.once.Do(func() {
		e := embedding.Cached(builtin.New(), 50_000)
		f.maker = newMaker(e)
		f.person, f.err = newPerson(ctx, p, e)
	})
	return f.person, f.maker, f.err
}

// remembering is a judge with a cache that all draws share. It is safe for concurrent use.
type remembering struct {
	mu      sync.Mutex
	session *crossencoder.Session
}

// Judge implements embedded.Judge.
func (r *remembering) Judge(later relation.Statement, stored []relation.Statement) []relation.Relation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.session.Judge(later, stored)
}

// Between implements embedded.Judge.
func (r *remembering) Between(later, stored relation.Statement) relation.Relation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.session.Between(later, stored)
}

// Gone implements embedded.Judge.
func (r *remembering) Gone(later relation.Statement, parts []string) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.session.Gone(later, parts)
}
