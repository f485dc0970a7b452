package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// ErrChanged says that the bank was written while it was exported: what was written out is not one state of it.
var ErrChanged = errors.New("the bank was written meanwhile: export it again")

// pageSize is how much is read from the bank at a time.
const pageSize = 200

// Export writes a user's bank to w: entries of every state with their vectors, turns, session records, and the newest core
// block. Decisions on dropped turns are left out: they say how this installation decided and are nothing of what is remembered. model and dimension are of the embedding that the bank was filled with.
func Export(ctx context.Context, b bank.Bank, scope memory.Scope, model string, dimension int, w io.Writer) error {
	counts, err := b.Count(ctx, scope)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	counts.Core, counts.Dropped = min(counts.Core, 1), 0
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	e := exporter{bank: b, scope: scope, put: enc.Encode}
	header := Header{Format: Format, Version: Version, User: scope.User, Model: model, Dimension: dimension, Counts: counts}
	if err := enc.Encode(line{Header: &header}); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	for _, part := range []func(context.Context) error{e.memories, e.turns, e.sessions, e.core} {
		if err := part(ctx); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	if e.written != counts {
		return ErrChanged
	}
	return nil
}

type exporter struct {
	bank    bank.Bank
	scope   memory.Scope
	put     func(any) error
	written bank.Counts
}

func (e *exporter) memories(ctx context.Context) error {
	for o := (bank.ListOptions{Limit: pageSize, WithVectors: true}); ; {
		page, err := e.bank.List(ctx, e.scope, o)
		if err != nil {
			return err
		}
		for i := range page.Memories {
			if err := e.put(line{Memory: &page.Memories[i]}); err != nil {
				return err
			}
		}
		e.written.Memories += len(page.Memories)
		if o.Token = page.Next; o.Token == "" {
			return nil
		}
	}
}

func (e *exporter) turns(ctx context.Context) error {
	for o := (bank.PageOptions{Limit: pageSize}); ; {
		page, err := e.bank.ListTurns(ctx, e.scope, o)
		if err != nil {
			return err
		}
		for i := range page.Turns {
			if err := e.put(line{Turn: &page.Turns[i]}); err != nil {
				return err
			}
		}
		e.written.Turns += len(page.Turns)
		if o.Token = page.Next; o.Token == "" {
			return nil
		}
	}
}

func (e *exporter) sessions(ctx context.Context) error {
	for o := (bank.PageOptions{Limit: pageSize}); ; {
		page, err := e.bank.ListSessions(ctx, e.scope, o)
		if err != nil {
			return err
		}
		for i := range page.Sessions {
			if err := e.put(line{Session: &page.Sessions[i]}); err != nil {
				return err
			}
		}
		e.written.Sessions += len(page.Sessions)
		if o.Token = page.Next; o.Token == "" {
			return nil
		}
	}
}

func (e *exporter) core(ctx context.Context) error {
	core, err := e.bank.Core(ctx, e.scope)
	if err != nil || core.Version == 0 {
		return err
	}
	e.written.Core = 1
	return e.put(line{Core: &core})
}
