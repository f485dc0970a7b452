// Package consolidation forms the memory of one user: an entity workflow that receives the
// user's salient turns by signal, waits until a session is worth consolidating, and runs
// extract -> relate -> decide -> apply on it. A user has one workflow at a time, hence one
// writer to the bank.
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

// Task queues. Activities that wait for a model and activities that wait for a store are
// apart, so that they scale apart.
const (
	QueueWorkflow = "mneme-consolidation"
	QueueModel    = "mneme-model"
	QueueStore    = "mneme-store"
)

// Names known to the Temporal server.
const (
	WorkflowName  = "mneme.consolidation"
	SignalEvents  = "events"
	QueryState    = "state"
	QueryWaiting  = "waiting"
	UpdateRetract = "retract"
	UpdateEdit    = "edit"
)

// WorkflowID is the id of a user's workflow. Temporal takes ids of up to 1,000 printable ASCII characters, users have
// ids in any script, so theirs is escaped. The escape is injective: two users never share a workflow.
func WorkflowID(scope memory.Scope) string {
	return idBegin + scope.Tenant + "/" + url.PathEscape(scope.User)
}

const idBegin = "consolidation/"

// ShownID is the id of a workflow as logs and spans show it: with a hash in the place of the user's id. Logs and traces are
// kept elsewhere, and an erasure does not reach them. Anything but the id of a user's workflow is returned as it is.
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
	Tuning   Tuning `json:"tuning"`
	// State is carried over by continue-as-new; zero at the start.
	State State `json:"state,omitzero"`
}

// Tuning is when a workflow consolidates and when it goes away.
type Tuning struct {
	// MaxTurns is how many waiting turns of an open session start a consolidation, which takes that many at most.
	MaxTurns int `json:"max_turns"`
	// BatchTurns is how many turns of a session that has ended one consolidation takes at most; 0, or less than MaxTurns, means
	// MaxTurns. Formers share out what is long, so more of a session at a time is decided sooner.
	BatchTurns int `json:"batch_turns,omitempty"`
	// Idle is how long an open session waits for its next turn before it is consolidated as it is.
	Idle time.Duration `json:"idle"`
	// Linger is how long the workflow stays after its last work, because sessions come in bursts.
	Linger time.Duration `json:"linger"`
	// MalformedAttempts is how often a session is tried whose model answers cannot be used,
	// before its turns go to the dead letters.
	MalformedAttempts int `json:"malformed_attempts"`
}

// Signal brings what happened to a user, in order.
type Signal struct {
	Events []Event `json:"events"`
	// Strategy and Policy are the tenant's by now: a run that began before a change goes on with them. Empty changes nothing.
	Strategy string `json:"strategy,omitempty"`
	Policy   string `json:"policy,omitempty"`
}

// Event is a turn, the end of a session, or a request to erase the user.
type Event struct {
	// ID is the id of the bus event; a repeated one has no effect, unless it names another turn.
	ID        string       `json:"id"`
	SessionID string       `json:"session_id,omitempty"`
	Turn      *memory.Turn `json:"turn,omitempty"`
	// Context says that the turn is not to be formed, only to be read beside those of its session that are.
	Context bool `json:"context,omitempty"`
	// DecidedAt is when the filter decided that the turn passes; zero where that is not known.
	DecidedAt time.Time `json:"decided_at,omitzero"`
	ClosedAt  time.Time `json:"closed_at,omitzero"`
	// IdleAfter closes the session when no further event of it comes for so long; 0 leaves the session's value as it is.
	IdleAfter time.Duration `json:"idle_after,omitempty"`
	// Erase asks that everything be erased that came before it. Unlike others, a repeated one takes effect again: what
	// followed it comes again, too.
	Erase bool `json:"erase,omitempty"`
	// TraceParent is the W3C trace context of the event; empty when not traced.
	TraceParent string `json:"traceparent,omitempty"`
}

// Retraction is a request to retract an entry, or to release it from quarantine. It comes as an update: whoever asks is told how it ends.
type Retraction struct {
	// ID is the id of the request.
	ID       string `json:"id"`
	MemoryID string `json:"memory_id"`
	// Release asks for the end of the quarantine instead.
	Release bool `json:"release,omitempty"`
	// Strategy says how a core block is kept that may tell of the entry, too.
	Strategy string `json:"strategy,omitempty"`
	// TraceParent is the W3C trace context of the request; empty when not traced.
	TraceParent string `json:"traceparent,omitempty"`
}

// Turn is a salient turn with the id of the bus event that brought it, and the time of the decision that let it pass.
type Turn struct {
	memory.Turn
	EventID   string    `json:"event_id"`
	DecidedAt time.Time `json:"decided_at,omitzero"`
}

// Batch is the turns one consolidation works on.
type Batch struct {
	Scope     memory.Scope `json:"scope"`
	Strategy  string       `json:"strategy"`
	Policy    string       `json:"policy"`
	SessionID string       `json:"session_id"`
	// Turns are in order of time.
	Turns []Turn `json:"turns"`
	// Context are turns of the session that are read and not formed, in order of time.
	Context []memory.Turn `json:"context,omitempty"`
	// Plain says that a model is shown the turns alone, nothing that was said or is known beside them: with that it gave no answer.
	Plain bool `json:"plain,omitempty"`
	// Skip is how much of what the turns say was worked off before, and Take how much is taken at most; 0 means all of it. They are
	// set where one turn alone says more than one consolidation takes.
	Skip int `json:"skip,omitempty"`
	Take int `json:"take,omitempty"`
	// Closes says that the session ends with this batch.
	Closes bool `json:"closes,omitempty"`
	// ClosedAt is when the session ended, also where further batches of it follow; zero while it is open. ClosedBy is the event that said so.
	ClosedAt time.Time `json:"closed_at,omitzero"`
	ClosedBy string    `json:"closed_by,omitempty"`
	// Instead is the policy that the tenant's is, where Policy took its place because of a budget: the turns are to come again.
	Instead string `json:"instead,omitempty"`
}

// turns are the turns alone.
func (b Batch) turns() []memory.Turn {
	out := make([]memory.Turn, len(b.Turns))
	for i, t := range b.Turns {
		out[i] = t.Turn
	}
	return out
}

// session is the batch as formers see it.
func (b Batch) session() formation.Session {
	return formation.Session{Scope: b.Scope, ID: b.SessionID, Turns: b.turns(), Context: b.Context}
}

// turnIDs are the ids of the turns.
func (b Batch) turnIDs() []string {
	out := make([]string, len(b.Turns))
	for i, t := range b.Turns {
		out[i] = t.ID
	}
	return out
}

// only is the batch with nothing but the turns of some ids.
func (b Batch) only(ids []string) Batch {
	b.Turns = slices.DeleteFunc(slices.Clone(b.Turns), func(t Turn) bool { return !slices.Contains(ids, t.ID) })
	return b
}

// without is the batch without the turns of some ids.
func (b Batch) without(ids []string) Batch {
	if len(ids) > 0 {
		b.Turns = slices.DeleteFunc(slices.Clone(b.Turns), func(t Turn) bool { return slices.Contains(ids, t.ID) })
	}
	return b
}

// CloseID is the id of the event that ends the session again after the batch went to the dead letters: without one,
// what is replayed would wait for further turns. Each batch of a session has its own.
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
	// More says that the turns say more than Batch.Take let through.
	More bool `json:"more,omitempty"`
	// Known are the batch's turns that were decided on before, kept or dropped: they came again, and the further steps leave them out.
	Known []string `json:"known,omitempty"`
	// Failed are things that turns say and that the policy could not tell.
	Failed []formation.Failure `json:"failed,omitempty"`
	// Reused are those among Known whose id was given to something else before: another session, or another text.
	Reused []string `json:"reused,omitempty"`
}

// RelateInput is the argument of Relate.
type RelateInput struct {
	Batch      Batch                 `json:"batch"`
	Candidates []formation.Candidate `json:"candidates"`
}

// Neighbourhood is the result of Relate. Entries are pooled, because candidates of one session
// share most of their neighbours.
type Neighbourhood struct {
	// Candidates are those that were given.
	Candidates []formation.Candidate `json:"candidates"`
	// Pool are the related entries, each once.
	Pool []memory.Memory `json:"pool,omitempty"`
	// Near has a list per candidate, nearest first.
	Near [][]Neighbour `json:"near,omitempty"`
	// Core is the user's core block as it is, where the strategy writes it.
	Core memory.Core `json:"core,omitzero"`
	// Window is what of working memory has been consolidated, oldest first, the newest turns of it at most.
	Window []memory.Turn `json:"window,omitempty"`
}

// Neighbour is a place in the pool with its similarity to the candidate.
type Neighbour struct {
	Pool       int     `json:"pool"`
	Similarity float64 `json:"similarity"`
}

// DecideInput is the argument of Decide.
type DecideInput struct {
	Batch         Batch         `json:"batch"`
	Neighbourhood Neighbourhood `json:"neighbourhood"`
	// Now becomes the entries' recorded time: the workflow's clock, so that a retry decides alike.
	Now time.Time `json:"now"`
	// Failed is that of Extracted: what these turns say is not told by the candidates.
	Failed []formation.Failure `json:"failed,omitempty"`
	// Found answers the lookups of the decision before, a list each; nil at first.
	Found [][]Neighbour `json:"found,omitempty"`
	// Memo is that of the decision before.
	Memo json.RawMessage `json:"memo,omitempty"`
}

// SearchInput is the argument of Search.
type SearchInput struct {
	Scope   memory.Scope       `json:"scope"`
	Lookups []formation.Lookup `json:"lookups"`
}

// SearchResult is the result of Search: the entries found, each once, and which of them each lookup found.
type SearchResult struct {
	Pool []memory.Memory `json:"pool,omitempty"`
	Near [][]Neighbour   `json:"near"`
}

// Decided is the result of Decide: what is recorded in history before anything is applied.
type Decided struct {
	Write   memory.Write    `json:"write"`
	Changes []memory.Change `json:"changes,omitempty"`
	// Passing are turns of the batch that working memory has to hold for a while.
	Passing []formation.Passing `json:"passing,omitempty"`
	// Failed are candidates that nothing could be decided on.
	Failed []formation.Failure `json:"failed,omitempty"`
	// Lookups are what the former wants to know before it decides; the rest is empty then, but for Memo.
	Lookups []formation.Lookup `json:"lookups,omitempty"`
	Memo    json.RawMessage    `json:"memo,omitempty"`
}

// ApplyInput is the argument of Apply.
type ApplyInput struct {
	Batch   Batch     `json:"batch"`
	Decided Decided   `json:"decided"`
	Now     time.Time `json:"now"`
	// More is that of Extracted: the turns are not done with.
	More bool `json:"more,omitempty"`
	// Again are turns that were decided on and come again, so that they do not count as formed: W holds them where that was decided.
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
	// RequestID is the id of the event that asked for it.
	RequestID string `json:"request_id"`
	// RunStartedAt is when the run began that the activity belongs to.
	RunStartedAt time.Time `json:"run_started_at"`
	Now          time.Time `json:"now"`
}

// DeadLetterInput is the argument of DeadLetter.
type DeadLetterInput struct {
	Batch  Batch     `json:"batch"`
	Reason string    `json:"reason"`
	Now    time.Time `json:"now"`
}
