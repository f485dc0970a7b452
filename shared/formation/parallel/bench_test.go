package parallel_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/parallel"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// BenchmarkBooster forms one session of salient turns in three ways. The first goes turn by turn as the paper does,
// each after the decisions on the one before. The second takes the whole session at once, and the third divides it.
// "forming-ms" is the time in the former, without embedding and search. The model is scripted: an answer takes 10 ms
// and then 0.5 ms a token.
func BenchmarkBooster(b *testing.B) {
	policies := map[string]func(*testing.B) formation.Former{
		"embedded": func(*testing.B) formation.Former { return salimory.NewEmbedded() },
		"model": func(b *testing.B) formation.Former {
			s := llmtest.New(b)
			s.Always(llmtest.Paced(10*time.Millisecond, 500*time.Microsecond))
			cfg := s.Config()
			cfg.Timeout = time.Hour // a whole long session takes its time
			client, err := model.NewClient(cfg, model.Deps{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(client.Close)
			f, err := salimory.NewLLM(client, llm.DefaultOptions())
			if err != nil {
				b.Fatal(err)
			}
			return f
		},
	}
	for _, policy := range []string{"embedded", "model"} {
		for _, n := range []int{10, 100, 1000} {
			in := longSession(b, n)
			for _, variant := range []string{"turns", "whole", "parallel"} {
				b.Run(fmt.Sprintf("%s/%d/%s", policy, n, variant), func(b *testing.B) {
					f := policies[policy](b)
					if variant == "parallel" {
						f = parallel.New(f, parallel.DefaultOptions())
					}
					var spent time.Duration
					for b.Loop() {
						spent += form(b, f, in, variant == "turns")
					}
					b.ReportMetric(float64(spent.Microseconds())/1000/float64(b.N), "forming-ms")
				})
			}
		}
	}
}

// longSession has n salient turns of invented people, repeated in order.
func longSession(b *testing.B, n int) formation.Session {
	b.Helper()
	in := formation.Session{Scope: scope, ID: "long"}
	for len(in.Turns) < n {
		for _, session := range slices.Concat(formationtest.People(b)...) {
			for _, turn := range session.Turns {
				turn.ID, turn.SessionID = fmt.Sprintf("%s:%d", turn.ID, len(in.Turns)), in.ID
				in.Turns = append(in.Turns, turn)
			}
		}
	}
	in.Turns = in.Turns[:n]
	return in
}

// life is a bank as far as forming needs one.
type life struct {
	embedder *builtin.Embedder
	entries  []memory.Memory
	spent    time.Duration
}

// form forms a session and returns the time that the former took.
func form(b *testing.B, f formation.Former, in formation.Session, byTurn bool) time.Duration {
	b.Helper()
	l := &life{embedder: builtin.New()}
	if !byTurn {
		l.form(b, f, in)
		return l.spent
	}
	for i := range in.Turns {
		part := in
		part.Turns = in.Turns[i : i+1]
		l.form(b, f, part)
	}
	return l.spent
}

func (l *life) form(b *testing.B, f formation.Former, in formation.Session) {
	b.Helper()
	ctx := context.Background()
	start := time.Now()
	candidates, err := f.Extract(ctx, in)
	l.spent += time.Since(start)
	if err != nil {
		b.Fatal(err)
	}
	formation.Number(candidates)
	bundle := formation.Bundle{Session: in}
	for _, c := range candidates {
		c.Vector = l.embed(b, c.Content)
		bundle.Related = append(bundle.Related, l.near(c))
	}
	start = time.Now()
	v, err := f.Decide(ctx, bundle)
	l.spent += time.Since(start)
	if err != nil {
		b.Fatal(err)
	}
	w, err := memory.Plan(in.Scope, v.Operations, l.entries, in.Turns[len(in.Turns)-1].Time)
	if err != nil {
		b.Fatal(err)
	}
	l.entries = slices.DeleteFunc(l.entries, func(m memory.Memory) bool {
		return slices.ContainsFunc(w.Close, func(c memory.Closing) bool { return c.ID == m.ID })
	})
	for _, m := range w.Put {
		if m.Status == memory.StatusActive {
			m.Vector = l.embed(b, m.Content)
			l.entries = append(l.entries, m)
		}
	}
}

func (l *life) embed(b *testing.B, text string) memory.Vector {
	b.Helper()
	vectors, err := l.embedder.Embed(context.Background(), []string{text})
	if err != nil {
		b.Fatal(err)
	}
	return vectors[0]
}

// near finds the twenty nearest entries.
func (l *life) near(c formation.Candidate) formation.Related {
	r := formation.Related{Candidate: c}
	order, cosines := make([]int, len(l.entries)), make([]float64, len(l.entries))
	for i, m := range l.entries {
		order[i], cosines[i] = i, memory.Cosine(c.Vector, m.Vector)
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(cosines[j], cosines[i]) })
	for _, i := range order[:min(len(order), formation.MaxNeighbours)] {
		r.Memories, r.Similarity = append(r.Memories, l.entries[i]), append(r.Similarity, cosines[i])
	}
	return r
}
