package features_test

import (
	"fmt"
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

func BenchmarkCandidates(b *testing.B) {
	table := wordvector.Shipped()
	weights := make([]float32, len(features.Names()))
	for i := range weights {
		weights[i] = 1
	}
	for _, n := range []int{600, 10_000} {
		c := chatter(n)
		x := features.New(table, c.memories, c.turns)
		q := asking("What kind of music did Ida play at the concert in the village?")
		talked := asking("And for him?",
			memory.Message{Role: memory.RoleUser, Content: q.Text},
			memory.Message{Role: memory.RoleAssistant, Content: c.turns[1].Text + " " + c.turns[3].Text},
			memory.Message{Role: memory.RoleUser, Content: c.turns[5].Text})
		q.Vector, talked.Vector = c.memories[0].Vector, c.memories[0].Vector
		for name, q := range map[string]features.Query{"": q, "/messages": talked} {
			b.Run(fmt.Sprint(n)+name, func(b *testing.B) {
				for b.Loop() {
					x.Candidates(q, weights, 20)
				}
			})
		}
	}
}

func BenchmarkNew(b *testing.B) {
	table := wordvector.Shipped()
	for _, n := range []int{600, 10_000} {
		c := chatter(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				features.New(table, c.memories, c.turns)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/memory")
		})
	}
}
