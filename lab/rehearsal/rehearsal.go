// Package rehearsal forms the memories of conversations and retrieves candidates for their questions, without services.
package rehearsal

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/supervised"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/store/bank"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

// Rehearsed is a question with its candidates.
type Rehearsed struct {
	// Question has each turn of its evidence once. Vector is its embedding.
	Question dataset.Question
	Vector   []float32
	// Candidates are the retrieved memories, in the order of retrieval.
	Candidates []features.Candidate
	// Example has the candidates in the form of training. A candidate with a turn of evidence in its sources is
	// relevant.
	Example supervised.Example
	// Groups are the groups of the candidates.
	Groups []uint32
	// Covers has, for each candidate, its turns of evidence, as indices into the question's Evidence.
	Covers [][]int
}

// Rehearse forms the memories of subjects and retrieves the candidates of their questions. It runs in the process,
// with the embedded policy behind the trained filter and an embedder's vectors. It takes the first k candidates by
// the weights of features, or all where k is 0. For each subject it returns keep's results for the questions. It
// leaves out questions without evidence. Evidence that the filter drops stays in the question, but no candidate
// covers it.
func Rehearse[T any](
	ctx context.Context, embedder embedding.Embedder, subjects []dataset.Subject, weights []float32, k int,
	keep func(dataset.Subject, Rehearsed) (T, error),
) ([][]T, error) {
	return RehearseGrouped(ctx, embedder, subjects, []Grouping{nil}, weights, k, keep)
}

// Grouping gives the n-th turn of the n-th session another session. nil keeps all sessions.
type Grouping func(session, turn int) string

// RehearseGrouped is Rehearse with other sessions. The memories are formed once. The candidates of all questions are
// retrieved once for each grouping.
func RehearseGrouped[T any](
	ctx context.Context, embedder embedding.Embedder, subjects []dataset.Subject, groupings []Grouping, weights []float32,
	k int,
	keep func(dataset.Subject, Rehearsed) (T, error),
) ([][]T, error) {
	out := make([][]T, len(subjects))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range subjects {
		group.Go(func() error {
			err := rehearse(ctx, embedder, s, groupings, weights, k, func(r Rehearsed) error {
				kept, err := keep(s, r)
				out[i] = append(out[i], kept)
				return err
			})
			if err != nil {
				return fmt.Errorf("user %s: %w", s.Scope.User, err)
			}
			return nil
		})
	}
	return out, group.Wait()
}

func rehearse(
	ctx context.Context, embedder embedding.Embedder, s dataset.Subject, groupings []Grouping, weights []float32, k int,
	keep func(Rehearsed) error,
) error {
	store := bankinmem.New(embedder.Dimension())
	p := formation.Pipeline{
		Filter: saliency.NewTrained(), Former: salimory.NewEmbedded(), Strategy: salimory.Name, Embedder: embedder,
		Bank: store,
	}
	formed, err := p.Form(ctx, s)
	if err != nil {
		return err
	}
	if err := formed.Complete(); err != nil {
		return err
	}
	memories, turns, err := list(ctx, store, s.Scope)
	if err != nil {
		return err
	}
	for _, g := range groupings {
		own, said := g.regroup(memories, turns, s)
		index := features.New(wordvector.Shipped(), own, said)
		if err := retrieve(ctx, embedder, index, s, weights, k, keep); err != nil {
			return err
		}
	}
	return nil
}

// regroup returns the memories and turns in their other sessions.
func (g Grouping) regroup(
	memories []memory.Memory, turns []memory.Turn, s dataset.Subject,
) ([]memory.Memory, []memory.Turn) {
	if g == nil {
		return memories, turns
	}
	of := map[string]string{}
	for i, session := range s.Sessions {
		for k, t := range session.Turns {
			of[t.ID] = g(i, k)
		}
	}
	memories, turns = slices.Clone(memories), slices.Clone(turns)
	for i := range turns {
		turns[i].SessionID = of[turns[i].ID]
	}
	for i, m := range memories {
		memories[i].SessionID = of[m.Sources[len(m.Sources)-1]]
	}
	return memories, turns
}

// Retrieve passes on the candidates of a bank for each of a subject's questions with evidence, as Rehearse does.
func Retrieve(
	ctx context.Context, embedder embedding.Embedder, store bank.Bank, s dataset.Subject, weights []float32, k int,
	keep func(Rehearsed) error,
) error {
	index, err := Index(ctx, store, s.Scope)
	if err != nil {
		return err
	}
	return retrieve(ctx, embedder, index, s, weights, k, keep)
}

func retrieve(
	ctx context.Context, embedder embedding.Embedder, index *features.Index, s dataset.Subject, weights []float32, k int,
	keep func(Rehearsed) error,
) error {
	most := ranking.MaxCandidates // the newer versions behind k candidates may be more
	if k == 0 {
		k, most = index.Len(), math.MaxInt
	}
	for _, q := range s.Questions {
		if !q.HasEvidence() {
			continue
		}
		vectors, err := embedder.Embed(ctx, []string{q.Text})
		if err != nil {
			return fmt.Errorf("embed question: %w", err)
		}
		now := q.AskedAt
		if now.IsZero() {
			now = s.End()
		}
		q.Evidence = q.EvidenceTurns()
		r := Rehearsed{Question: q, Vector: vectors[0]}
		asked := features.Query{Query: query.Understand(query.Input{Text: q.Text, Now: now}), Vector: vectors[0]}
		r.Candidates = index.Candidates(asked, weights, k)
		if over := len(r.Candidates) - most; over > 0 { // the newer memories behind the k best stay
			r.Candidates = slices.Delete(r.Candidates, max(0, k-over), k)[:most]
		}
		for _, c := range r.Candidates {
			covers, e := covered(c, q.Evidence), &r.Example
			r.Covers, r.Groups = append(r.Covers, covers), append(r.Groups, c.Group)
			e.Features, e.Cosine = append(e.Features, c.Features), append(e.Cosine, c.Cosine)
			e.Relevant = append(e.Relevant, len(covers) > 0)
		}
		if err := keep(r); err != nil {
			return err
		}
	}
	return nil
}

// covered returns the indices of the evidence in the sources of a candidate and its companions.
func covered(c features.Candidate, evidence []string) (places []int) {
	for i, id := range evidence {
		tells := func(m memory.Memory) bool { return slices.Contains(m.Sources, id) }
		if tells(c.Memory) || slices.ContainsFunc(c.Siblings, tells) {
			places = append(places, i)
		}
	}
	return places
}

// Index indexes a bank's entries of a user, as services do for recalls.
func Index(ctx context.Context, b bank.Bank, scope memory.Scope) (*features.Index, error) {
	memories, turns, err := list(ctx, b, scope)
	if err != nil {
		return nil, err
	}
	return features.New(wordvector.Shipped(), memories, turns), nil
}

// list returns a user's entries and turns.
func list(
	ctx context.Context, b bank.Bank, scope memory.Scope,
) (memories []memory.Memory, turns []memory.Turn, err error) {
	for m, err := range bank.EachMemory(ctx, b, scope, bank.ListOptions{Limit: bank.MaxLimit, WithVectors: true}) {
		if err != nil {
			return nil, nil, err
		}
		memories = append(memories, m)
	}
	for t, err := range bank.EachTurn(ctx, b, scope, bank.PageOptions{Limit: bank.MaxLimit}) {
		if err != nil {
			return nil, nil, err
		}
		turns = append(turns, t)
	}
	return memories, turns, nil
}

// RecallAt is the share of the evidence that the first candidates cover, for each number of candidates. The order is
// by the weights, spread as the reranker does.
func (r Rehearsed) RecallAt(w ranking.Weights, ks ...int) ([]float64, error) {
	candidates := make([]ranking.Candidate, len(r.Covers))
	for i := range candidates {
		candidates[i] = ranking.Candidate{Features: r.Example.Features[i], Cosine: r.Example.Cosine[i]}
	}
	scores, err := w.Scores(nil, candidates)
	if err != nil {
		return nil, fmt.Errorf("score candidates: %w", err)
	}
	ranking.Spread(candidates, scores, r.Groups, ranking.DefaultSpread)
	order := ranking.Top(candidates, scores, len(candidates))
	out := make([]float64, len(ks))
	for i, k := range ks {
		out[i] = score.Share(Covered(r.Covers, order[:min(k, len(order))]), len(r.Question.Evidence))
	}
	return out, nil
}

// Covered counts the pieces of evidence that candidates cover, each once. covers has the pieces of each candidate,
// places are candidates.
func Covered(covers [][]int, places []int) int {
	found := map[int]bool{}
	for _, place := range places {
		for _, piece := range covers[place] {
			found[piece] = true
		}
	}
	return len(found)
}
