package consolidation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/quarantine"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// PolicyCaller is the policy version of entries with the literal text of a caller.
const PolicyCaller = "caller/1"

// Reasons of requested operations.
const (
	reasonTold     = "told as it is"
	reasonReplaced = "replaced on request"
)

// Edit is a request to write an entry with the caller's text: a new entry, or a new version of an entry that holds.
// It is a Temporal update, as a Retraction is.
type Edit struct {
	// ID is the id of the request.
	ID string `json:"id"`
	// MemoryID is the entry that gets a new version. It is empty for a new entry.
	MemoryID string `json:"memory_id,omitempty"`
	// Turn is the source: its text is the content, and its id determines the entry's id. A repeated request with the
	// same turn writes nothing.
	Turn memory.Turn `json:"turn"`
	// Kind is the kind of a new entry. A new version keeps the kind of the previous version.
	Kind memory.Kind `json:"kind,omitempty"`
	// Strategy is the tenant's strategy.
	Strategy string `json:"strategy,omitempty"`
	// TraceParent is the W3C trace context of the request. It is empty when not traced.
	TraceParent string `json:"traceparent,omitempty"`
}

// EntryID is the id of the entry that the request writes.
func (e Edit) EntryID(scope memory.Scope) string {
	return memory.DeriveID(scope, []string{e.Turn.ID}, 0)
}

// wrote reports whether such a request wrote the entry.
func (e Edit) wrote(m memory.Memory) bool {
	return m.PolicyVersion == PolicyCaller &&
		(e.MemoryID == "" && len(m.Predecessors) == 0 || slices.Contains(m.Predecessors, e.MemoryID))
}

// EditInput is the argument of Edit.
type EditInput struct {
	Scope memory.Scope `json:"scope"`
	Edit
	Now time.Time `json:"now"`
}

// batch returns the turn as a batch of its session.
func (in EditInput) batch() Batch {
	return Batch{Scope: in.Scope, Strategy: in.Strategy, SessionID: in.Turn.SessionID,
		Turns: []Turn{{Turn: in.Turn, DecidedAt: in.Now}}}
}

// Edit decides the operations for a caller's text, and Apply writes them. It decides nothing if the turn was written
// before. It waits for a model, because it embeds the text.
func (a *Activities) Edit(ctx context.Context, in EditInput) (Decided, error) {
	written, err := a.written(ctx, in)
	if err != nil || written {
		return Decided{}, classify(err)
	}
	decide := DecideInput{Batch: in.batch(), Now: in.Now}
	var verdict formation.Verdict
	if in.MemoryID == "" {
		verdict.Operations = []memory.Operation{in.addition()}
	} else if verdict, err = a.replacement(ctx, in, &decide.Neighbourhood); err != nil {
		return Decided{}, classify(err)
	}
	if err := a.complete(ctx, decide, verdict.Operations); err != nil {
		return Decided{}, classify(err)
	}
	decided, err := plan(decide, verdict, PolicyCaller)
	if err != nil {
		return Decided{}, classify(fmt.Errorf("plan: %w", err))
	}
	return decided, fits("the decision", decided)
}

// written reports whether the request was carried out before. A turn with another earlier decision cannot become an
// entry.
func (a *Activities) written(ctx context.Context, in EditInput) (bool, error) {
	known, reused, err := a.known(ctx, in.batch())
	switch {
	case err != nil:
		return false, err
	case len(reused) > 0:
		return false, fault.Terminal("turn.turn_id",
			"is the id of a turn with another session or text, want ids that are unique per user")
	case len(known) == 0:
		return false, nil
	}
	m, err := a.Bank.Get(ctx, in.Scope, in.EntryID(in.Scope))
	switch {
	case errors.Is(err, bank.ErrNotFound), err == nil && !in.wrote(m):
		return false, fault.Terminal("turn.turn_id", "is the id of an already processed turn, want a new id")
	case err != nil:
		return false, fmt.Errorf("get memory: %w", err)
	}
	return true, nil
}

// entry returns the entry with the caller's text. The text of an assistant is in the third person, and the text of a
// person is a quotation.
func (in EditInput) entry(kind memory.Kind) *memory.Memory {
	m := &memory.Memory{
		ID: in.EntryID(in.Scope), Kind: kind, Content: in.Turn.Text, ValidFrom: in.Turn.Time, SessionID: in.Turn.SessionID,
		Strategy: in.Strategy, PolicyVersion: PolicyCaller,
	}
	if in.Turn.Role != memory.RoleAssistant {
		m.Speaker = embedded.SpeakerOf(in.Turn)
	}
	m.Topic, m.Keywords, m.EventTime = embedded.About(in.Turn.Text, kind, in.Turn.Time)
	return m
}

// suspect returns why the turn looks like an attack on the memory. It is empty if the turn does not.
func (in EditInput) suspect() string {
	return quarantine.Turns([]memory.Turn{in.Turn})[in.Turn.ID].Reason
}

// addition adds the entry. An entry that looks like an attack goes into quarantine.
func (in EditInput) addition() memory.Operation {
	op := memory.Operation{Kind: memory.OpAdd, New: in.entry(in.Kind), Sources: []string{in.Turn.ID}, Reason: reasonTold}
	op.New.Quarantine = in.suspect()
	return op
}

// replacement replaces another entry, the one in near. It also removes the lines about that entry from a core block
// that the strategy writes.
func (a *Activities) replacement(
	ctx context.Context, in EditInput, near *Neighbourhood,
) (v formation.Verdict, err error) {
	m, err := a.Bank.Get(ctx, in.Scope, in.MemoryID)
	switch {
	case errors.Is(err, bank.ErrNotFound):
		return v, fault.Terminal("", "the memory no longer exists")
	case err != nil:
		return v, fmt.Errorf("get memory: %w", err)
	case m.Status == memory.StatusSuperseded:
		return v, fault.Terminal("", "the memory is superseded: update its newer version")
	case m.Status == memory.StatusQuarantined:
		return v, fault.Terminal("", "the memory is quarantined: release it first, or delete it")
	case m.Status != memory.StatusActive:
		return v, fault.Terminal("", "the memory is %s: it cannot be updated any more", m.Status)
	}
	if why := in.suspect(); why != "" { // a quarantined version would leave no entry that holds
		return v, fault.Terminal("turn.text", "looks like an attack on the memory (%s), and such a text replaces no entry",
			why)
	}
	near.Pool = []memory.Memory{m}
	v.Operations = []memory.Operation{{
		Kind: memory.OpUpdate, Targets: []string{m.ID}, New: in.entry(m.Kind), Sources: []string{in.Turn.ID},
		Reason: reasonTold,
	}}
	if tenant.Strategy(in.Strategy).WritesCore() {
		if near.Core, err = a.Bank.Core(ctx, in.Scope); err != nil {
			return v, fmt.Errorf("read core block: %w", err)
		}
		v.Core = cuts(near.Core, m, in.Turn.ID, reasonReplaced)
	}
	return v, nil
}
