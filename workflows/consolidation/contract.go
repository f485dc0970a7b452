// Package consolidation forms the memory of one user. An entity workflow receives the user's salient turns by signal
// and waits until a session is worth consolidating. Then it runs extract -> relate -> decide -> apply on the session.
// A user has one workflow at a time, so the bank has one writer.
package consolidation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Task queues. Activities that wait for a model and activities that wait for a store have separate queues, so that
// they scale separately.
const (
	QueueWorkflow = "mneme-consolidation"
	QueueModel    = "mneme-model"
	QueueStore    = "mneme-store"
)

// Names registered with the Temporal server.
const (
	WorkflowName  = "mneme.consolidation"
	SignalEvents  = "events"
	QueryState    = "state"
	QueryWaiting  = "waiting"
	UpdateRetract = "retract"
	UpdateEdit    = "edit"
)

// WorkflowID is the id of a user's workflow. Temporal accepts ids of up to 1,000 printable ASCII characters. User ids
// may have any script, so WorkflowID escapes them. The escape is injective: two users never share a workflow.
func WorkflowID(scope memory.Scope) string {
	return idBegin + scope.Tenant + "/" + url.PathEscape(scope.User)
}

const idBegin = "consolidation/"

// ShownID is the form of a workflow id in logs and spans: a hash replaces the user's id. An erasure does not reach
// logs and traces. ShownID returns other ids unchanged.
func ShownID(id string) string {
	rest, ok := strings.CutPrefix(id, idBegin)
	tenant, user, found := strings.Cut(rest, "/")
	if !ok || !found {
		return id
	}
	sum := sha256.Sum256([]byte(user))
	return idBegin + tenant + "/" + hex.EncodeToString(sum[:16])
}

// Params start a user's workflow.
type Params struct {
	Scope memory.Scope `json:"scope"`
	// Strategy and Policy choose the former, see Formers.
	Strategy string `json:"strategy"`
	Policy   string `json:"policy"`
	// TalkDays is the retention of talk, see tenant.Tenant.
	TalkDays int    `json:"talk_days,omitempty"`
	Tuning   Tuning `json:"tuning"`
	// State is carried over by continue-as-new. It is zero at the start.
	State State `json:"state,omitzero"`
}

// Tuning configures when a workflow consolidates and when it ends.
type Tuning struct {
	// MaxTurns is the number of waiting turns of an open session that starts a consolidation. The consolidation takes
	// at most that many turns.
	MaxTurns int `json:"max_turns"`
	// BatchTurns is the maximum number of turns of an ended session per consolidation. Zero, or less than MaxTurns,
	// means MaxTurns. Formers split long input, so larger batches finish a session sooner.
	BatchTurns int `json:"batch_turns,omitempty"`
	// Idle is how long an open session waits for its next turn before its consolidation.
	Idle time.Duration `json:"idle"`
	// Linger is how long the workflow stays after its last work, because sessions come in bursts.
	Linger time.Duration `json:"linger"`
	// MalformedAttempts is the number of attempts with unusable model answers. After that, the turns go to the dead
	// letters.
	MalformedAttempts int `json:"malformed_attempts"`
}

// Signal brings the events of a user, in order.
type Signal struct {
	Events []Event `json:"events"`
	// Strategy and Policy are the tenant's current settings. A run that began before a change continues with them.
	// Empty values change nothing.
	Strategy string `json:"strategy,omitempty"`
	Policy   string `json:"policy,omitempty"`
	// TalkDays is the current retention of talk. It counts only with a Strategy.
	TalkDays int `json:"talk_days,omitempty"`
}

// Event is a turn, the end of a session, or a request to erase the user's data.
type Event struct {
	// ID is the id of the bus event. A repeated id has no effect, unless it names another turn.
	ID        string       `json:"id"`
	SessionID string       `json:"session_id,omitempty"`
	Turn      *memory.Turn `json:"turn,omitempty"`
	// Context marks a turn that is not formed. It is only read with the other turns of its session.
	Context bool `json:"context,omitempty"`
	// DecidedAt is when the filter let the turn pass. Zero means unknown.
	DecidedAt time.Time `json:"decided_at,omitzero"`
	ClosedAt  time.Time `json:"closed_at,omitzero"`
	// IdleAfter closes the session after that time without an event. Zero keeps the session's value.
	IdleAfter time.Duration `json:"idle_after,omitempty"`
	// Erase requests the erasure of everything before it. Unlike other events, a repeated one takes effect again,
	// because the events after it come again, too.
	Erase bool `json:"erase,omitempty"`
	// TraceParent is the W3C trace context of the event. It is empty when not traced.
	TraceParent string `json:"traceparent,omitempty"`
}

// Retraction is a request to retract an entry, or to release it from quarantine. It is a Temporal update, so the
// caller gets its result.
type Retraction struct {
	// ID is the id of the request.
	ID       string `json:"id"`
	MemoryID string `json:"memory_id"`
	// Release ends the quarantine instead.
	Release bool `json:"release,omitempty"`
	// Strategy determines how the core block is kept. The block may repeat the entry.
	Strategy string `json:"strategy,omitempty"`
	// TraceParent is the W3C trace context of the request. It is empty when not traced.
	TraceParent string `json:"traceparent,omitempty"`
}

// Turn is a salient turn with the id of its bus event and the time at which the filter let it pass.
type Turn struct {
	memory.Turn
	EventID   string    `json:"event_id"`
	DecidedAt time.Time `json:"decided_at,omitzero"`
}

// Batch is the turns of one consolidation.
type Batch struct {
	Scope     memory.Scope `json:"scope"`
	Strategy  string       `json:"strategy"`
	Policy    string       `json:"policy"`
	SessionID string       `json:"session_id"`
	// Turns are in order of time.
	Turns []Turn `json:"turns"`
	// Context is the turns of the session that are read but not formed, in order of time.
	Context []memory.Turn `json:"context,omitempty"`
	// Plain limits the model's input to the turns, without context or known entries. It is set after the model gave no
	// answer with them.
	Plain bool `json:"plain,omitempty"`
	// Skip is the number of things in the turn that are already worked off. Take is the maximum number to take now; 0
	// means all. They are set if one turn alone has more content than one consolidation takes.
	Skip int `json:"skip,omitempty"`
	Take int `json:"take,omitempty"`
	// Closes marks the last batch of the session.
	Closes bool `json:"closes,omitempty"`
	// ClosedAt is when the session ended, even if further batches follow. It is zero while the session is open.
	// ClosedBy is the event that ended it.
	ClosedAt time.Time `json:"closed_at,omitzero"`
	ClosedBy string    `json:"closed_by,omitempty"`
	// Instead is the tenant's policy, if a used-up budget replaced it with Policy. The turns must come again then.
	Instead string `json:"instead,omitempty"`
}

// turns returns only the turns.
func (b Batch) turns() []memory.Turn {
	out := make([]memory.Turn, len(b.Turns))
	for i, t := range b.Turns {
		out[i] = t.Turn
	}
	return out
}

// session converts the batch for formers.
func (b Batch) session() formation.Session {
	return formation.Session{Scope: b.Scope, ID: b.SessionID, Turns: b.turns(), Context: b.Context}
}

// turnIDs returns the ids of the turns.
func (b Batch) turnIDs() []string {
	out := make([]string, len(b.Turns))
	for i, t := range b.Turns {
		out[i] = t.ID
	}
	return out
}

// only returns the batch reduced to the turns with the given ids.
func (b Batch) only(ids []string) Batch {
	b.Turns = slices.DeleteFunc(slices.Clone(b.Turns), func(t Turn) bool { return !slices.Contains(ids, t.ID) })
	return b
}

// without returns the batch without the turns with the given ids.
func (b Batch) without(ids []string) Batch {
	if len(ids) > 0 {
		b.Turns = slices.DeleteFunc(slices.Clone(b.Turns), func(t Turn) bool { return slices.Contains(ids, t.ID) })
	}
	return b
}

// CloseID is the id of the event that ends the session again after the batch went to the dead letters. Without it,
// replayed turns would wait for further turns. Each batch of a session has another id.
func (b Batch) CloseID() string {
	last := ""
	if n := len(b.Turns); n > 0 {
		last = b.Turns[n-1].ID
	}
	return memory.DeriveSessionID(b.Scope, b.SessionID+"\nreplayed\n"+last)
}

// Extracted is the result of Extract.
type Extracted struct {
	Candidates []formation.Candidate `json:"candidates"`
	// More means that the turns have more content than Batch.Take allowed.
	More bool `json:"more,omitempty"`
	// Known are the turns of the batch with an earlier decision, kept or dropped. They came again, and the further
	// steps skip them.
	Known []string `json:"known,omitempty"`
	// Failed are the parts of turns that the policy could not extract.
	Failed []formation.Failure `json:"failed,omitempty"`
	// Reused are the Known turns whose id belongs to another session or another text.
	Reused []string `json:"reused,omitempty"`
}

// RelateInput is the argument of Relate.
type RelateInput struct {
	Batch      Batch                 `json:"batch"`
	Candidates []formation.Candidate `json:"candidates"`
}

// Neighbourhood is the result of Relate. Its entries are pooled, because the candidates of one session share most
// neighbours.
type Neighbourhood struct {
	// Candidates are the given candidates.
	Candidates []formation.Candidate `json:"candidates"`
	// Pool is the related entries, each once.
	Pool []memory.Memory `json:"pool,omitempty"`
	// Near has one list per candidate, nearest first.
	Near [][]Neighbour `json:"near,omitempty"`
	// Core is the user's current core block, if the strategy writes it.
	Core memory.Core `json:"core,omitzero"`
	// Window is the newest consolidated turns of working memory, oldest first.
	Window []memory.Turn `json:"window,omitempty"`
}

// Neighbour is a place in the pool and the similarity to the candidate.
type Neighbour struct {
	Pool       int     `json:"pool"`
	Similarity float64 `json:"similarity"`
}

// DecideInput is the argument of Decide.
type DecideInput struct {
	Batch         Batch         `json:"batch"`
	Neighbourhood Neighbourhood `json:"neighbourhood"`
	// Now becomes the recorded time of the entries. It is the workflow's clock, so that a retry decides alike.
	Now time.Time `json:"now"`
	// Failed is Extracted.Failed. No candidate covers these parts of turns.
	Failed []formation.Failure `json:"failed,omitempty"`
	// Found has the results of the previous decision's lookups, one list each. It is nil at first.
	Found [][]Neighbour `json:"found,omitempty"`
	// Memo is the memo of the previous decision.
	Memo json.RawMessage `json:"memo,omitempty"`
}

// SearchInput is the argument of Search.
type SearchInput struct {
	Scope   memory.Scope       `json:"scope"`
	Lookups []formation.Lookup `json:"lookups"`
}

// SearchResult is the result of Search: the entries found, each once, and the entries of each lookup.
type SearchResult struct {
	Pool []memory.Memory `json:"pool,omitempty"`
	Near [][]Neighbour   `json:"near"`
}

// Decided is the result of Decide. The workflow history records it before Apply.
type Decided struct {
	Write   memory.Write    `json:"write"`
	Changes []memory.Change `json:"changes,omitempty"`
	// Passing are turns of the batch that the window must hold for a while.
	Passing []formation.Passing `json:"passing,omitempty"`
	// Failed are candidates without a decision.
	Failed []formation.Failure `json:"failed,omitempty"`
	// Lookups are searches that the former needs before it decides. The other fields except Memo are empty then.
	Lookups []formation.Lookup `json:"lookups,omitempty"`
	Memo    json.RawMessage    `json:"memo,omitempty"`
}

// ApplyInput is the argument of Apply.
type ApplyInput struct {
	Batch   Batch     `json:"batch"`
	Decided Decided   `json:"decided"`
	Now     time.Time `json:"now"`
	// More is Extracted.More: the turns have more content.
	More bool `json:"more,omitempty"`
	// Again are decided turns that come again and do not count as formed. The window holds them if the decision says
	// so.
	Again []Turn `json:"again,omitempty"`
}

// RetractInput is the argument of Retract.
type RetractInput struct {
	Scope memory.Scope `json:"scope"`
	Retraction
	Now time.Time `json:"now"`
}

// EraseInput is the argument of Erase.
type EraseInput struct {
	Scope memory.Scope `json:"scope"`
	// RequestID is the id of the event that requested the erasure.
	RequestID string `json:"request_id"`
	// RunStartedAt is the start time of the activity's run.
	RunStartedAt time.Time `json:"run_started_at"`
	Now          time.Time `json:"now"`
}

// ExpireTalkInput is the argument of ExpireTalk.
type ExpireTalkInput struct {
	Scope memory.Scope `json:"scope"`
	// Before is the end of the expired time. Talk with an earlier ValidFrom is removed.
	Before time.Time `json:"before"`
	Now    time.Time `json:"now"`
}

// DeadLetterInput is the argument of DeadLetter.
type DeadLetterInput struct {
	Batch  Batch     `json:"batch"`
	Reason string    `json:"reason"`
	Now    time.Time `json:"now"`
}
