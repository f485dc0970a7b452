package utilizer_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/bank"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

// remembered is the number of turns, all remembered, of the user in the benchmarks.
const remembered = 600

// local ranks as the reranker does, without a network.
type local struct{ weights ranking.Weights }

func (l local) Rank(_ context.Context, a utilizer.Ask, m int) (utilizer.Order, error) {
	query, err := ranking.DecodeVector(a.Query)
	if err != nil {
		return utilizer.Order{}, err
	}
	candidates := make([]ranking.Candidate, len(a.Candidates))
	for i, c := range a.Candidates {
		candidates[i] = ranking.Candidate{ID: c.ID, Features: c.Features, Cosine: c.Cosine}
		if candidates[i].Projected, err = ranking.DecodeVector(c.Vector); err != nil {
			return utilizer.Order{}, err
		}
	}
	scores, err := l.weights.Scores(query, candidates)
	return utilizer.Order{Places: ranking.Top(candidates, scores, m), Scores: scores, Version: "prior/0"}, err
}

// life returns a bank with n memories of one user, and questions about them.
func life(tb testing.TB, n int) (b bank.Bank, questions []string) {
	tb.Helper()
	var w memory.Write
	var texts []string
	sessions := slices.Concat(formationtest.People(tb)...)
	for round := 0; len(w.Turns) < n; round++ {
		for _, s := range sessions {
			for _, turn := range s.Turns[:min(len(s.Turns), n-len(w.Turns))] {
				turn.ID = fmt.Sprintf("%s:%d", turn.ID, len(w.Turns))
				content := fmt.Sprintf("%s says: %s (%d)", turn.Speaker, turn.Text, round)
				texts, w.Turns = append(texts, content), append(w.Turns, turn)
				w.Put = append(w.Put, memory.Memory{
					ID: memory.DeriveID(ana, []string{turn.ID}, 0), Kind: memory.KindFact, Content: content,
					Status: memory.StatusActive, Version: 1,
					RecordedAt: turn.Time, ValidFrom: turn.Time, Sources: []string{turn.ID}, SessionID: s.ID,
				})
			}
		}
	}
	vectors, err := builtin.New().Embed(tb.Context(), texts)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range w.Put {
		w.Put[i].Vector = vectors[i]
	}
	for i := range 20 {
		questions = append(questions, "When did "+w.Turns[i].Speaker+" say this: "+w.Turns[i].Text+"?")
	}
	b = bankinmem.New(builtin.Dimension)
	if err := b.Write(tb.Context(), ana, w); err != nil {
		tb.Fatal(err)
	}
	return b, questions
}

// BenchmarkRecall asks a user of 600 memories, each question in turn. It runs with the index ready, with the bank's
// search alone, and after a change each time.
func BenchmarkRecall(b *testing.B) {
	all, questions := life(b, remembered)
	for name, c := range map[string]struct {
		room    utilizer.IndexCacheOptions
		changes bool
	}{"warm": {room: roomy}, "searched": {}, "changed": {room: roomy, changes: true}} {
		b.Run(name, func(b *testing.B) {
			r := newRecaller(b)
			r.Bank, r.Indexes, r.Ranker = all, newIndexCache(b, all, c.room), local{r.Prior}
			r.Indexes.Fetch(ana)()
			asked := 0
			for b.Loop() {
				if c.changes {
					r.Indexes.Drop(ana)
				}
				q := utilizer.Request{User: ana.User, Query: questions[asked%len(questions)], Candidates: 20, Memories: 5,
					WordBudget: 250}
				got, err := r.Recall(b.Context(), acme, q)
				if err != nil || len(got.Degraded) != 0 || len(got.Ranked) != q.Memories {
					b.Fatalf("got %+v, %v", got, err)
				}
				asked++
			}
		})
	}
}

// BenchmarkIndexCache prints the size of users with 600 memories in the index cache: the real size, and the size that
// the cache counts.
func BenchmarkIndexCache(b *testing.B) {
	const users = 100
	all, _ := life(b, remembered)
	of := anybody{all}
	for b.Loop() {
		s := newIndexCache(b, of, utilizer.IndexCacheOptions{Bytes: 1 << 30, Entries: 20_000, Fresh: roomy.Fresh})
		before := heap()
		for u := range users {
			s.Fetch(one(u))()
		}
		b.ReportMetric(float64(heap()-before)/users/(1<<10), "KiB/user")
		account, _, n := s.Held()
		if n != users {
			b.Fatalf("%d users are kept", n)
		}
		b.ReportMetric(float64(account)/users/(1<<10), "KiB/user-counted")
	}
}

// anybody is a bank in which every user has ana's memories, as copies.
type anybody struct{ bank.Bank }

func (a anybody) List(ctx context.Context, _ memory.Scope, o bank.ListOptions) (bank.Page, error) {
	page, err := a.Bank.List(ctx, ana, o)
	for i, m := range page.Memories {
		page.Memories[i].Content = string([]byte(m.Content))
		page.Memories[i].ID = string([]byte(m.ID))
		page.Memories[i].SessionID = string([]byte(m.SessionID))
	}
	return page, err
}

func (a anybody) ListTurns(ctx context.Context, _ memory.Scope, o bank.PageOptions) (bank.TurnPage, error) {
	page, err := a.Bank.ListTurns(ctx, ana, o)
	for i, t := range page.Turns {
		page.Turns[i].Text = string([]byte(t.Text))
		page.Turns[i].ID = string([]byte(t.ID))
	}
	return page, err
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far below
}
