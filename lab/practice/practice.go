package practice

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/lab/synthesis/questions"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// heldOutEvery is the period of held-out conversations, or of a file's questions: one in so many is held out.
const heldOutEvery = 3

// practice is a tenant with its users' questions.
type practice struct {
	name, habits string
	// number is its place among the tenants, also when it learns alone.
	number         int
	streamed, held []exercise
}

// exercise is a question with its candidates in the form that the utilizer sends to the reranker.
type exercise struct {
	user string
	// query and vectors are encoded. The candidates have them in the reranker's reading.
	query      []byte
	candidates []*mnemev1.RerankCandidate
	read       []ranking.Candidate
	asked      []float32
	// covers has, by memory, its turns of evidence, as indices into the question's evidence.
	covers   map[string][]int
	evidence int
}

// audience is a made-up tenant.
type audience struct {
	name, habits string
	rates        questions.Rates
}

// audiences returns tenants that differ in their users' partners and questions, so that different features help them.
func audiences() []audience {
	friends, helped := questions.DefaultRates(), questions.DefaultRates()
	friends.Assistant, friends.Temporal, friends.Multi, friends.Detail, friends.Now, friends.Told = 0, 0.6, 0.3, 0.1, 0, 0
	helped.Assistant, helped.Temporal, helped.Multi, helped.Detail, helped.Now, helped.Told = 1, 0, 0, 0.4, 0.3, 0.3
	return []audience{
		{"friends", "two friends talk; asked is mostly when something was, and for several things at once", friends},
		{"assistant", "a user talks with an assistant; asked is for details, what was said, and what holds now", helped},
	}
}

// practise makes the tenants' questions.
func practise(ctx context.Context, o Options, prior ranking.Weights) ([]*practice, error) {
	if o.Path != "" {
		return practiseFile(ctx, o, prior)
	}
	var out []*practice
	for i, a := range audiences() {
		g, err := questions.New(questions.Options{
			Seed: o.Seed + uint64(i), Conversations: o.Conversations, Sessions: o.Sessions, Split: synthesis.SplitHeldout,
			Rates: a.rates,
		})
		if err != nil {
			return nil, err
		}
		p := &practice{name: a.name, habits: a.habits, number: i}
		all, err := exercises(ctx, o, prior, g.Subjects(a.name))
		if err != nil {
			return nil, err
		}
		for c, of := range all {
			if c%heldOutEvery == heldOutEvery-1 {
				p.held = append(p.held, of...)
			} else {
				p.streamed = append(p.streamed, of...)
			}
		}
		out = append(out, p)
	}
	return out, checkPractice(out, "the made-up conversations")
}

// practiseFile divides the users of a file among two tenants, or gives a single user one tenant. It holds out some of
// each user's questions.
func practiseFile(ctx context.Context, o Options, prior ranking.Weights) ([]*practice, error) {
	subjects, _, err := dataset.ReadSubjects(o.Path, dataset.ReadOptions{})
	if err != nil {
		return nil, err
	}
	all, err := exercises(ctx, o, prior, subjects)
	if err != nil {
		return nil, err
	}
	out := make([]*practice, min(len(audiences()), len(subjects)))
	for i := range out {
		first := []string{"first", "second"}[i]
		out[i] = &practice{name: fmt.Sprintf("tenant-%d", i+1), habits: "every user of the file from the " + first + " on",
			number: i}
		if len(out) > 1 {
			out[i].habits = "every other user of the file, from the " + first + " on"
		}
	}
	for i, of := range all {
		p := out[i%len(out)]
		r := rand.New(rand.NewPCG(o.Seed, uint64(i)))
		r.Shuffle(len(of), func(a, b int) { of[a], of[b] = of[b], of[a] })
		held := len(of) / heldOutEvery
		p.held, p.streamed = append(p.held, of[:held]...), append(p.streamed, of[held:]...)
	}
	return out, checkPractice(out, o.Path)
}

func checkPractice(tenants []*practice, from string) error {
	for _, t := range tenants {
		if len(t.held) == 0 || len(t.streamed) == 0 {
			return fmt.Errorf("%w: %s has too few questions with evidence for %s: %d to stream, %d to hold out",
				dataset.ErrFormat, from, t.name, len(t.streamed), len(t.held))
		}
	}
	return nil
}

// exercises forms the memories of subjects in the process and asks their questions. It leaves out questions without
// candidates.
func exercises(
	ctx context.Context, o Options, prior ranking.Weights, subjects []dataset.Subject,
) ([][]exercise, error) {
	projector := ranking.NewProjector()
	all, err := rehearsal.Rehearse(ctx, builtin.New(), subjects, prior.W, o.Candidates,
		func(s dataset.Subject, r rehearsal.Rehearsed) (exercise, error) {
			return newExercise(s.Scope.User, r, projector)
		})
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i] = slices.DeleteFunc(all[i], func(e exercise) bool { return len(e.candidates) == 0 })
	}
	fmt.Fprintf(o.Progress, "formed the memories of %d users\n", len(subjects))
	return all, nil
}

func newExercise(user string, r rehearsal.Rehearsed, p *ranking.Projector) (e exercise, err error) {
	evidence := r.Question.Evidence
	e = exercise{user: user, covers: map[string][]int{}, evidence: len(evidence)}
	if e.query, e.asked, err = packed(p, r.Vector); err != nil {
		return e, err
	}
	for i, c := range r.Candidates {
		m := c.Memory
		encoded, projected, err := packed(p, m.Vector)
		if err != nil {
			return e, err
		}
		sent := &mnemev1.RerankCandidate{MemoryId: m.ID, Features: c.Features, Cosine: c.Cosine, Vector: encoded}
		e.candidates = append(e.candidates, sent)
		e.read = append(e.read, ranking.Candidate{ID: m.ID, Features: c.Features, Cosine: c.Cosine, Projected: projected})
		for _, turn := range r.Covers[i] { // the report names the memory itself, without its companions
			if slices.Contains(m.Sources, evidence[turn]) {
				e.covers[m.ID] = append(e.covers[m.ID], turn)
			}
		}
	}
	return e, nil
}

// packed projects a vector and rounds it to its form on the wire.
func packed(p *ranking.Projector, v []float32) (encoded []byte, read []float32, err error) {
	if encoded, err = ranking.EncodeVector(p.Project(v)); err != nil {
		return nil, nil, fmt.Errorf("encode vector: %w", err)
	}
	read, err = ranking.DecodeVector(encoded)
	return encoded, read, err
}
