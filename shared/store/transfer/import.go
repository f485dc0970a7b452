package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/mneme-memory/mneme/shared/formation/quarantine"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// Errors of imports. Data written before them stays. An erasure allows another try.
var (
	// ErrNotEmpty means that the user already has data.
	ErrNotEmpty = errors.New("the user's bank is not empty: an import needs an empty bank")
	// ErrOutOfStep means that the bank does not match the data of the previous pages.
	ErrOutOfStep = errors.New("the bank differs from the imported lines: another writer changed it, or a line is repeated")
)

// Importer imports into empty banks. No other writer may write to the user's bank meanwhile.
type Importer struct {
	Bank     bank.Bank
	Embedder embedding.Embedder
}

// Page imports whole lines after the header. first is the number of the first line. soFar is the result of the
// previous page, or the zero Counts at the beginning. Page writes nothing if a line is invalid. It puts entries that
// hold and look like an attack on the memory into quarantine. anew reports that vectors were computed again, because
// the export has another embedding model.
func (im Importer) Page(
	ctx context.Context, scope memory.Scope, h Header, lines []byte, first int, soFar bank.Counts,
) (now bank.Counts, anew bool, err error) {
	if err := im.inStep(ctx, scope, soFar, soFar == bank.Counts{}); err != nil {
		return soFar, false, err
	}
	records, err := parseAll(lines, first)
	if err != nil {
		return soFar, false, err
	}
	if now, err = counted(h, records, soFar); err != nil {
		return soFar, false, err
	}
	if err := guard(records); err != nil {
		return soFar, false, err
	}
	anew = h.Model != im.Embedder.Model() || h.Dimension != im.Embedder.Dimension()
	if err := im.vectors(ctx, records, h.Dimension, anew); err != nil {
		return soFar, false, err
	}
	for _, w := range writes(records) {
		if err := im.Bank.Write(ctx, scope, w); err != nil {
			return soFar, false, fmt.Errorf("import: %w", err)
		}
	}
	return now, anew, im.inStep(ctx, scope, now, false)
}

// inStep checks that the bank has exactly the expected numbers of objects.
func (im Importer) inStep(ctx context.Context, scope memory.Scope, want bank.Counts, empty bool) error {
	got, err := im.Bank.Count(ctx, scope)
	got.Dropped = 0 // decisions on dropped turns are not part of an export, and change independently of the writer
	switch {
	case err != nil:
		return fmt.Errorf("import: %w", err)
	case got == want:
		return nil
	case empty:
		return ErrNotEmpty
	default:
		return ErrOutOfStep
	}
}

func parseAll(lines []byte, first int) ([]Record, error) {
	var records []Record
	number, known := first, map[string]int{}
	for text := range bytes.Lines(lines) {
		r, err := ParseRecord(number, bytes.TrimRight(text, "\r\n"))
		if err != nil {
			return nil, err
		}
		name, id := r.identity()
		if before, twice := known[name+id]; twice {
			return nil, lineError(number, name, "is also the value of line %d", before)
		}
		known[name+id] = number
		records = append(records, r)
		number++
	}
	return records, nil
}

// guard puts entries that hold and look like an attack on the memory into quarantine, whatever their status in the
// file. A core block has no quarantine, and every prompt includes it, so a suspicious block is refused.
func guard(records []Record) error {
	for _, r := range records {
		switch {
		case r.Memory != nil && r.Memory.Status == memory.StatusActive:
			if why := quarantine.Entry(*r.Memory); why != "" {
				r.Memory.Status, r.Memory.Quarantine = memory.StatusQuarantined, why
			}
		case r.Core != nil:
			if why := quarantine.Entry(memory.Memory{Content: r.Core.Content}); why != "" {
				return lineError(r.Line, "core.content", "looks like an attack on the memory (%s), want a core block without it",
					why)
			}
		}
	}
	return nil
}

// identity returns the name and value of the field that is unique in a bank. A bank has one core block.
func (r Record) identity() (name, id string) {
	switch {
	case r.Memory != nil:
		return "memory.id", r.Memory.ID
	case r.Turn != nil:
		return "turn.id", r.Turn.ID
	case r.Session != nil:
		return "session.session_id", r.Session.SessionID
	default:
		return "core", ""
	}
}

// counted adds records to the imported numbers. It refuses more records of a kind than in the header.
func counted(h Header, records []Record, soFar bank.Counts) (bank.Counts, error) {
	for _, r := range records {
		n, limit, sort := &soFar.Core, h.Counts.Core, "core"
		switch {
		case r.Memory != nil:
			n, limit, sort = &soFar.Memories, h.Counts.Memories, "memory"
		case r.Turn != nil:
			n, limit, sort = &soFar.Turns, h.Counts.Turns, "turn"
		case r.Session != nil:
			n, limit, sort = &soFar.Sessions, h.Counts.Sessions, "session"
		}
		if *n++; *n > limit {
			return soFar, lineError(r.Line, sort, "is number %d of its sort, but the header says that there are %d", *n, limit)
		}
	}
	return soFar, nil
}

// vectors checks the entries' vectors, and computes them again if they come from another model.
func (im Importer) vectors(ctx context.Context, records []Record, dimension int, anew bool) error {
	var entries []*memory.Memory
	var texts []string
	for _, r := range records {
		if r.Memory == nil {
			continue
		}
		if n := len(r.Memory.Vector); n != dimension {
			return lineError(r.Line, "memory.vector", "has %d dimensions, want %d", n, dimension)
		}
		entries, texts = append(entries, r.Memory), append(texts, r.Memory.Content)
	}
	if !anew || len(texts) == 0 {
		return nil
	}
	vectors, err := im.Embedder.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("import: embed entries: %w", err)
	}
	for i, m := range entries {
		m.Vector = vectors[i]
	}
	return nil
}

// writes returns the writes of the records: one for entries and turns, and one per session, because a write has one
// session.
func writes(records []Record) []memory.Write {
	first := memory.Write{}
	var out []memory.Write
	for _, r := range records {
		switch {
		case r.Memory != nil:
			first.Put = append(first.Put, *r.Memory)
		case r.Turn != nil:
			first.Turns = append(first.Turns, *r.Turn)
		case r.Session != nil:
			out = append(out, memory.Write{Session: r.Session})
		case r.Core != nil:
			out = append(out, memory.Write{Core: r.Core})
		}
	}
	if len(first.Put)+len(first.Turns) > 0 {
		out = append([]memory.Write{first}, out...)
	}
	return out
}
