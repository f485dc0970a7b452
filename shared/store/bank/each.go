package bank

import (
	"context"
	"fmt"
	"iter"

	"github.com/mneme-memory/mneme/shared/memory"
)

// EachMemory iterates over all of a user's entries that o selects, from o's token on. It stops at the first error.
func EachMemory(ctx context.Context, b Bank, scope memory.Scope, o ListOptions) iter.Seq2[memory.Memory, error] {
	return each("list memories", o.Token, func(token string) ([]memory.Memory, string, error) {
		o.Token = token
		page, err := b.List(ctx, scope, o)
		return page.Memories, page.Next, err
	})
}

// CountEach counts the entries of EachMemory.
func CountEach(ctx context.Context, b Bank, scope memory.Scope, o ListOptions) (n int, err error) {
	o.Limit, o.Token = MaxLimit, ""
	for _, err := range EachMemory(ctx, b, scope, o) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// EachTurn iterates over all stored turns of a user. It stops at the first error.
func EachTurn(ctx context.Context, b Bank, scope memory.Scope, o PageOptions) iter.Seq2[memory.Turn, error] {
	return each("list turns", o.Token, func(token string) ([]memory.Turn, string, error) {
		o.Token = token
		page, err := b.ListTurns(ctx, scope, o)
		return page.Turns, page.Next, err
	})
}

// EachSession iterates over all session records of a user. It stops at the first error.
func EachSession(
	ctx context.Context, b Bank, scope memory.Scope, o PageOptions,
) iter.Seq2[memory.SessionRecord, error] {
	return each("list sessions", o.Token, func(token string) ([]memory.SessionRecord, string, error) {
		o.Token = token
		page, err := b.ListSessions(ctx, scope, o)
		return page.Sessions, page.Next, err
	})
}

func each[T any](what, token string, read func(token string) (page []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			page, next, err := read(token)
			if err != nil {
				var none T
				yield(none, fmt.Errorf("%s: %w", what, err))
				return
			}
			for _, v := range page {
				if !yield(v, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			token = next
		}
	}
}
