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

// ErrChanged means that the bank was written during the export. The written data is not one consistent state.
var ErrChanged = errors.New("the bank changed during the export: export it again")

// pageSize is the number of objects per read from the bank.
const pageSize = 200

// Export writes a user's bank to w: entries of every state with their vectors, turns, session records, and the newest
// core block. It omits decisions on dropped turns: they describe this installation's filter and are not memory. model
// and dimension belong to the embedding of the bank.
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

// export returns the numbers of written objects, and the numbers in the bank before.
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
	header := Header{Format: Format, Version: Version, User: scope.User, Model: model, Dimension: dimension,
		Counts: counts}
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
	if written.Sessions, err = putAll(sessions, func(s memory.SessionRecord) error {
		return put(line{Session: &s})
	}); err != nil {
		return written, counts, err
	}
	core, err := b.Core(ctx, scope)
	if err != nil || core.Version == 0 {
		return written, counts, err
	}
	written.Core = 1
	return written, counts, put(line{Core: &core})
}

// putAll writes all objects and returns their number.
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
