package llm

import (
	"context"
	"sync/atomic"
)

// Usage counts the cost of the calls made under one context. The zero value is ready. It is safe for concurrent
// use.
type Usage struct{ calls, input, output atomic.Int64 }

// Calls is the number of answers, including answers that needed a repair.
func (u *Usage) Calls() int64 { return u.calls.Load() }

// InputTokens is the total length of the prompts in tokens, as the server counts.
func (u *Usage) InputTokens() int64 { return u.input.Load() }

// OutputTokens is the total length of the answers in tokens, as the server counts.
func (u *Usage) OutputTokens() int64 { return u.output.Load() }

type usageKey struct{}

// WithUsage returns a context that counts every call in u, in addition to any counter that ctx already has.
func WithUsage(ctx context.Context, u *Usage) context.Context {
	outer, _ := ctx.Value(usageKey{}).([]*Usage)
	return context.WithValue(ctx, usageKey{}, append(outer[:len(outer):len(outer)], u))
}

// count adds an answer to the context's counters.
func count(ctx context.Context, input, output int64) {
	counters, _ := ctx.Value(usageKey{}).([]*Usage)
	for _, u := range counters {
		u.calls.Add(1)
		u.input.Add(input)
		u.output.Add(output)
	}
}
