package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// ErrChanged says that the bank was written while it was exported: what was written out is not one state of it.
var ErrChanged = errors.New("the bank was written meanwhile: export it again")

// pageSize is how much is read from the bank at a time.
const pageSize = 200

// Export writes a user's bank to w: entries of every state with their vectors, turns, session records, and the newest core
// block. Decisions on dropped turns are left out: they say how this installation decided and are nothing of what is
// remembered. model and dimension are of the embedding that the bank was filled with.
func Export(ctx context.Context, b bank.Bank, scope memory.Scope, model string, dimension int, w io.Writer) error {
	written, counts, err := export(ctx, b, scope, model, dimension, w)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if written != counts {
		return ErrChanged
	}
	return nil
}

// export returns how much was written, and how much the bank had before.
func export(
	ctx context.Context, b bank.Bank, scope memory.Scope, model string, dimension int, w io.Writer,
) (written, counts bank.Counts, err error) {
	if counts, err = b.Count(ctx, scope); err != nil {
		return written, counts, err
	}
	counts.Core, counts.Dropped = min(counts.Core, 1), 0
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	put := func(l line) error { return enc.Encode(l) }
	header := Header{Format: Format, Version: Version, User: scope.User, Model: model, Dimension: dimension, Counts: counts}
	if err := put(line{Header: &header}); err != nil {
		return written, counts, err
	}
	page := bank.PageOptions{Limit: pageSize}
	memories := bank.EachMemory(ctx, b, scope, bank.ListOptions{Limit: pageSize, WithVectors: true})
	if written.Memories, err = putAll(memories, func(m memory.Memory) error { return put(line{Memory: &m}) }); err != nil {
		return written, counts, err
	}
	turns := bank.EachTurn(ctx, b, scope, page)
	if written.Turns, err = putAll(turns, func(t memory.Turn) error { return put(line{Turn: &t}) }); err != nil {
		return written, counts, err
	}
	sessions := bank.EachSession(ctx, b, scope, page)
	if written.Sessions, err = putAll(sessions, func(s memory.SessionRecord) error { return put(line{Session: &s}) }); err != nil {
		return written, counts, err
	}
	core, err := b.Core(ctx, scope)
	if err != nil || core.Version == 0 {
		return written, counts, err
	}
	written.Core = 1
	return written, counts, put(line{Core: &core})
}

// putAll writes everything and returns how much it was.
func putAll[T any](all iter.Seq2[T, error], put func(T) error) (n int, err error) {
	for v, err := range all {
		if err == nil {
			err = put(v)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
