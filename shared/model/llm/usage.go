package llm

import (
	"context"
	"sync/atomic"
)

// Usage counts what the calls made under one context cost. The zero value is ready; it is safe for concurrent use.
type Usage struct{ calls, input, output atomic.Int64 }

// Calls is how many answers came, those that had to be repaired included.
func (u *Usage) Calls() int64 { return u.calls.Load() }

// InputTokens is the prompts' length in tokens, as the server counts.
func (u *Usage) InputTokens() int64 { return u.input.Load() }

// OutputTokens is the answers' length in tokens, as the server counts.
func (u *Usage) OutputTokens() int64 { return u.output.Load() }

type usageKey struct{}

// WithUsage has every call made under the returned context counted in u, beside any counter that ctx carries already.
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
