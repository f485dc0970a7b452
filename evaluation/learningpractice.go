package evaluation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/evaluation/synthesis/questions"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

// heldOutEvery is which share of conversations, or of a file's questions, is held out: one in so many.
const heldOutEvery = 3

// practice is a tenant with the questions of its users.
type practice struct {
	name, habits string
	// number is its place among the tenants, also where it learns alone.
	number         int
	streamed, held []exercise
}

// exercise is a question with its candidates as the utilizer sends them to the reranker.
type exercise struct {
	user string
	// query and vectors are encoded; the candidates have them as the reranker reads them.
	query      []byte
	candidates []*mnemev1.RerankCandidate
	read       []ranking.Candidate
	asked      []float32
	// covers has, by memory, the turns of evidence that it rests on, as places in the question's evidence.
	covers   map[string][]int
	evidence int
}

// audience is a made-up tenant.
type audience struct {
	name, habits string
	rates        questions.Rates
}

// audiences differ in whom their users talk to and in what they ask, so that other features tell what helps them.
func audiences() []audience {
	friends, helped := questions.DefaultRates(), questions.DefaultRates()
	friends.Assistant, friends.Temporal, friends.Multi, friends.Detail, friends.Now, friends.Told = 0, 0.6, 0.3, 0.1, 0, 0
	helped.Assistant, helped.Temporal, helped.Multi, helped.Detail, helped.Now, helped.Told = 1, 0, 0, 0.4, 0.3, 0.3
	return []audience{
		{"friends", "two friends talk; asked is mostly when something was, and for several things at once", friends},
		{"assistant", "a user talks with an assistant; asked is for details, what was told, and what holds now", helped},
	}
}

// practise makes the tenants' questions.
func practise(ctx context.Context, o LearningOptions, prior ranking.Weights) ([]*practice, error) {
	if o.Path != "" {
		return practiseFile(ctx, o, prior)
	}
	var out []*practice
	for i, a := range audiences() {
		g, err := questions.New(questions.Options{Seed: o.Seed + uint64(i), Conversations: o.Conversations, Sessions: o.Sessions, Split: synthesis.SplitHeldout, Rates: a.rates})
		if err != nil {
			return nil, err
		}
		var subjects []Subject
		for c := range g.Len() {
			subjects = append(subjects, FromQuestions(g.Conversation(c), a.name))
		}
		p := &practice{name: a.name, habits: a.habits, number: i}
		all, err := exercises(ctx, o, prior, subjects)
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

// practiseFile shares the users of a file out among two tenants, or one where there is one user only. Of each user's questions some are held out.
func practiseFile(ctx context.Context, o LearningOptions, prior ranking.Weights) ([]*practice, error) {
	subjects, _, err := ReadSubjects(o.Path, ReadOptions{})
	if err != nil {
		return nil, err
	}
	all, err := exercises(ctx, o, prior, subjects)
	if err != nil {
		return nil, err
	}
	out := make([]*practice, min(len(audiences()), len(subjects)))
	for i := range out {
		out[i] = &practice{name: fmt.Sprintf("tenant-%d", i+1), habits: "every user of the file from the " + ordinal(i) + " on", number: i}
		if len(out) > 1 {
			out[i].habits = "every other user of the file, from the " + ordinal(i) + " on"
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

func ordinal(i int) string { return []string{"first", "second"}[i] }

func checkPractice(tenants []*practice, from string) error {
	for _, t := range tenants {
		if len(t.held) == 0 || len(t.streamed) == 0 {
			return fmt.Errorf("%w: %s has too few questions with evidence for %s: %d to stream, %d to hold out", dataset.ErrFormat, from, t.name, len(t.streamed), len(t.held))
		}
	}
	return nil
}

// exercises forms the memories of subjects in the process and asks their questions of them.
func exercises(ctx context.Context, o LearningOptions, prior ranking.Weights, subjects []Subject) ([][]exercise, error) {
	out := make([][]exercise, len(subjects))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range subjects {
		group.Go(func() (err error) {
			out[i], err = exercisesOf(ctx, o.Candidates, prior, s)
			if err != nil {
				return fmt.Errorf("user %s: %w", s.Scope.User, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Progress, "formed the memories of %d users\n", len(subjects))
	return out, nil
}

func exercisesOf(ctx context.Context, k int, prior ranking.Weights, s Subject) ([]exercise, error) {
	embedder := builtin.New()
	store := bankinmem.New(embedder.Dimension())
	p := Pipeline{Filter: saliency.NewTrained(), Former: salimory.NewEmbedded(), Strategy: salimory.Name, Embedder: embedder, Bank: store}
	if _, err := p.Form(ctx, s); err != nil {
		return nil, err
	}
	index, err := remembered(ctx, store, s.Scope, wordvector.Shipped())
	if err != nil {
		return nil, err
	}
	projector := ranking.NewProjector()
	var out []exercise
	for _, q := range s.Questions {
		if !measured(q) {
			continue
		}
		vectors, err := embedder.Embed(ctx, []string{q.Text})
		if err != nil {
			return nil, fmt.Errorf("embed question: %w", err)
		}
		now := q.AskedAt
		if now.IsZero() {
			now = s.Sessions[len(s.Sessions)-1].End()
		}
		found := index.Candidates(features.Query{Text: q.Text, Vector: vectors[0], Now: now}, prior.W, k)
		e, err := newExercise(s.Scope.User, q, vectors[0], found, projector)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			out = append(out, e)
		}
	}
	return out, nil
}

func newExercise(user string, q Question, vector []float32, found []features.Candidate, p *ranking.Projector) (e exercise, err error) {
	evidence := distinct(q.Evidence)
	e = exercise{user: user, covers: map[string][]int{}, evidence: len(evidence)}
	if e.query, e.asked, err = packed(p, vector); err != nil {
		return e, err
	}
	for _, c := range found {
		encoded, projected, err := packed(p, c.Memory.Vector)
		if err != nil {
			return e, err
		}
		e.candidates = append(e.candidates, &mnemev1.RerankCandidate{MemoryId: c.Memory.ID, Features: c.Features, Cosine: c.Cosine, Vector: encoded})
		e.read = append(e.read, ranking.Candidate{ID: c.Memory.ID, Features: c.Features, Cosine: c.Cosine, Projected: projected})
		for i, turn := range evidence {
			if slices.Contains(c.Memory.Sources, turn) {
				e.covers[c.Memory.ID] = append(e.covers[c.Memory.ID], i)
			}
		}
	}
	return e, nil
}

// packed projects a vector and rounds it as it is sent.
func packed(p *ranking.Projector, v []float32) (encoded []byte, read []float32, err error) {
	if encoded, err = ranking.EncodeVector(p.Project(v)); err != nil {
		return nil, nil, fmt.Errorf("encode vector: %w", err)
	}
	read, err = ranking.DecodeVector(encoded)
	return encoded, read, err
}
