package consolidation

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// maxSeen limits the remembered event ids. It only has to cover repeated deliveries within a run. Across runs the
// bank has the turns.
const maxSeen = 2000

// A payload may have 2 MB (see fits). A batch passes through four of them, together with its results.
const (
	// maxBatchBytes limits the texts of one consolidation, unless one turn alone is larger.
	maxBatchBytes = 256 << 10
	// maxPendingBytes is the size of waiting events in the state. Above it, further signals stay in their channel.
	maxPendingBytes = 512 << 10
	// maxContextBytes limits the context of one session, and maxContexts the context of all sessions together. Context
	// does not count as waiting. Turns that are only read must never delay turns to form.
	maxContextBytes = 32 << 10
	maxContexts     = 128 << 10
	// turnBytes is the approximate size of a turn without its texts.
	turnBytes = 256
)

func (t Turn) size() int { return turnBytes + len(t.Text) + len(t.Caption) }

// bytes returns the approximate size of the state.
func (s *State) bytes() int {
	n := 0
	for _, sessions := range [][]Session{s.Open, s.Closed} {
		for _, o := range sessions {
			if o.onlyContext() {
				continue
			}
			n += turnBytes
			for _, t := range o.Turns {
				n += t.size()
			}
		}
	}
	return n
}

// batch returns how many waiting turns one consolidation takes. full reports whether that is the maximum.
func (o *Session) batch(maxTurns int) (n int, full bool) {
	if o.Limit > 0 {
		maxTurns = min(maxTurns, o.Limit)
	}
	total := 0
	for n < len(o.Turns) && n < maxTurns {
		if slices.ContainsFunc(o.Turns[:n], func(t Turn) bool { return t.ID == o.Turns[n].ID }) {
			return n, true // Extract detects a reused id after the first turn is kept
		}
		total += o.Turns[n].size()
		if n > 0 && total > maxBatchBytes {
			return n, true
		}
		n++
	}
	return n, n >= maxTurns
}

// State is the events that wait for consolidation. It is carried over by continue-as-new.
type State struct {
	// Open is the sessions that may get further turns, by first arrival.
	Open []Session `json:"open,omitempty"`
	// Closed is the ended sessions, in the order of their ends. They are consolidated in that order.
	Closed []Session `json:"closed,omitempty"`
	// Erasures wait for the writer. All other events here came after them.
	Erasures []Event `json:"erasures,omitempty"`
	// Seen is the newest events, oldest first, in the form of Event.seen.
	Seen []string `json:"seen,omitempty"`
	// LastFailure is the reason of the last failed consolidation. It is empty after a success.
	LastFailure string `json:"last_failure,omitempty"`
}

// Session is the waiting turns of one session.
type Session struct {
	ID    string `json:"id"`
	Turns []Turn `json:"turns,omitempty"`
	// Context is turns that are not formed, in order of arrival. They are deleted with the session.
	Context []memory.Turn `json:"context,omitempty"`
	// Heard is the number of turns that came, with context.
	Heard int `json:"heard,omitempty"`
	// Arrived is when its newest event came. Context counts only in a session without turns: it neither starts nor
	// delays a consolidation.
	Arrived time.Time `json:"arrived"`
	// TraceParent is the trace context of its newest event.
	TraceParent string `json:"traceparent,omitempty"`
	// ClosedAt is when the session ended, and ClosedBy is the id of the event that ended it. Both are zero while it is
	// open.
	ClosedAt time.Time `json:"closed_at,omitzero"`
	ClosedBy string    `json:"closed_by,omitempty"`
	// IdleAfter closes the session after that time without an event. Zero means that only an event closes it.
	IdleAfter time.Duration `json:"idle_after,omitempty"`
	// HeardAt is when the newest event of the session came, including context. It is set if IdleAfter is.
	HeardAt time.Time `json:"heard_at,omitzero"`
	// Limit is the maximum number of turns per batch after a larger batch had too much content. Zero means no limit.
	Limit int `json:"limit,omitempty"`
	// Skip and Take apply to the next batch, if its one turn has too much content.
	Skip int `json:"skip,omitempty"`
	Take int `json:"take,omitempty"`
	// Plain is Batch.Plain of the next batch, which has one turn then.
	Plain bool `json:"plain,omitempty"`
	// Failures counts consecutive unusable model answers.
	Failures int `json:"failures,omitempty"`

	// extracted is the content of the next batch, kept for another attempt of its decision. It ends with the run.
	extracted *keptExtracted
}

// add accepts events and drops repeated ones.
func (s *State) add(events []Event, now time.Time) {
	for _, e := range events {
		if e.Erase {
			*s = State{Erasures: append(s.Erasures, e), Seen: []string{e.ID}}
			continue
		}
		seen := e.seenKey()
		if slices.Contains(s.Seen, seen) {
			continue
		}
		s.Seen = append(s.Seen, seen)
		switch {
		case e.Turn != nil && e.Context:
			s.addContext(e, now)
		case e.Turn != nil:
			s.addTurn(e, now)
		case !e.ClosedAt.IsZero():
			s.closeSession(e, now)
		}
	}
	if extra := len(s.Seen) - maxSeen; extra > 0 {
		s.Seen = slices.Delete(s.Seen, 0, extra)
	}
}

// seenKey names the event in State.Seen. For a turn it includes a hash of session and text. So an id with other content
// does not count as repeated, and Extract sees it.
func (e Event) seenKey() string {
	if e.Turn == nil {
		return e.ID
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", e.Turn.SessionID, e.Turn.Text, e.Turn.Caption))
	return fmt.Sprintf("%s#%x", e.ID, sum[:4])
}

func (s *State) addTurn(e Event, now time.Time) {
	if waits(s.Open, *e.Turn) || waits(s.Closed, *e.Turn) {
		return
	}
	session := s.open(e, now)
	session.Turns = append(session.Turns, Turn{session.place(*e.Turn), e.ID, e.DecidedAt})
}

// place returns a new turn of the session with its place.
func (o *Session) place(t memory.Turn) memory.Turn {
	o.Heard++
	t.Place = o.Heard
	return t
}

// addContext keeps a turn that is only read. It drops context that comes after the end of its session.
func (s *State) addContext(e Event, now time.Time) {
	ended := slices.ContainsFunc(s.Closed, func(o Session) bool { return o.ID == e.SessionID })
	if ended || contextBytes([]memory.Turn{*e.Turn}) > maxContextBytes {
		return
	}
	i := slices.IndexFunc(s.Open, func(o Session) bool { return o.ID == e.SessionID })
	if i < 0 {
		i = len(s.Open)
		s.Open = append(s.Open, Session{ID: e.SessionID})
	}
	session := &s.Open[i]
	session.recordEvent(e, now)
	if slices.ContainsFunc(session.Context, func(t memory.Turn) bool { return t.ID == e.Turn.ID }) {
		return
	}
	if len(session.Turns) == 0 {
		session.Arrived = now
	}
	session.Context = append(session.Context, session.place(*e.Turn))
	for contextBytes(session.Context) > maxContextBytes { // the oldest is dropped
		session.Context = slices.Delete(session.Context, 0, 1)
	}
	for s.contextBytes() > maxContexts {
		s.forgetContext()
	}
}

// forgetContext drops the context of the session that has waited longest.
func (s *State) forgetContext() {
	for _, sessions := range [][]Session{s.Closed, s.Open} {
		for i := range sessions {
			if len(sessions[i].Context) > 0 {
				sessions[i].Context = nil
				s.Open = slices.DeleteFunc(s.Open, func(o Session) bool {
					return o.onlyContext() && o.IdleAfter == 0 && len(o.Context) == 0
				})
				return
			}
		}
	}
}

// onlyContext reports whether the session is open and has no turn to form.
func (o *Session) onlyContext() bool { return len(o.Turns) == 0 && o.ClosedAt.IsZero() }

// expire drops sessions with only context for Tuning.Idle. A session with an idle time is closed instead (see
// closeIdle).
func (s *State) expire(t Tuning, now time.Time) {
	s.Open = slices.DeleteFunc(s.Open, func(o Session) bool {
		return o.onlyContext() && o.IdleAfter == 0 && now.Sub(o.Arrived) >= t.Idle
	})
}

func (s *State) contextBytes() (n int) {
	for _, sessions := range [][]Session{s.Open, s.Closed} {
		for _, o := range sessions {
			n += contextBytes(o.Context)
		}
	}
	return n
}

// contextBytes returns the approximate size of turns.
func contextBytes(turns []memory.Turn) (n int) {
	for _, t := range turns {
		n += Turn{Turn: t}.size()
	}
	return n
}

// context returns the context of the session's first n turns, in order of time. It ends before the next remaining
// turn. A turn with too much content is read alone.
func (o *Session) context(n int) []memory.Turn {
	if o.Take > 0 || n == 0 {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(o.Context), func(c memory.Turn) bool {
		formed := func(t Turn) bool { return t.ID == c.ID }
		later := n < len(o.Turns) && c.Compare(o.Turns[n].Turn) > 0
		return later || slices.ContainsFunc(o.Turns, formed)
	})
	slices.SortStableFunc(out, memory.Turn.Compare)
	return out
}

// waits reports whether a turn waits. Another turn with its id does not count.
func waits(sessions []Session, turn memory.Turn) bool {
	return slices.ContainsFunc(sessions, func(o Session) bool {
		return slices.ContainsFunc(o.Turns, func(t Turn) bool { return t.ID == turn.ID && t.SameAs(turn) })
	})
}

// waiting reports whether turns of a session wait.
func (s *State) waiting(sessionID string) bool {
	has := func(o Session) bool { return o.ID == sessionID && len(o.Turns) > 0 }
	return slices.ContainsFunc(s.Open, has) || slices.ContainsFunc(s.Closed, has)
}

func (s *State) closeSession(e Event, now time.Time) {
	session := *s.open(e, now)
	session.ClosedBy = e.ID
	s.end(session, e.ClosedAt)
}

// end moves an open session to the closed ones.
func (s *State) end(session Session, at time.Time) {
	session.ClosedAt = at
	s.Open = slices.DeleteFunc(s.Open, func(o Session) bool { return o.ID == session.ID })
	s.Closed = append(s.Closed, session)
}

// open returns the open session of an event. It creates the session if needed.
func (s *State) open(e Event, now time.Time) *Session {
	i := slices.IndexFunc(s.Open, func(o Session) bool { return o.ID == e.SessionID })
	if i < 0 {
		s.Open = append(s.Open, Session{ID: e.SessionID})
		i = len(s.Open) - 1
	}
	s.Open[i].Arrived, s.Open[i].TraceParent = now, e.TraceParent
	s.Open[i].recordEvent(e, now)
	return &s.Open[i]
}

// ready returns the next session to consolidate. closes reports whether the session has ended.
func (s *State) ready(t Tuning, now time.Time) (session *Session, closes bool) {
	if len(s.Closed) > 0 {
		return &s.Closed[0], true
	}
	for i := range s.Open {
		o := &s.Open[i]
		if _, full := o.batch(t.MaxTurns); full || (len(o.Turns) > 0 && now.Sub(o.Arrived) >= t.Idle) {
			return o, false
		}
	}
	return nil, false
}

// turns returns the maximum number of turns of a session per consolidation.
func (t Tuning) turns(ended bool) int {
	if ended {
		return max(t.MaxTurns, t.BatchTurns)
	}
	return t.MaxTurns
}

// maxTake is the maximum number of things taken from one turn at a time, if all of them are too many.
const maxTake = 256

// halve halves the next batch: its turns, or the content of its only turn. It returns false if it can halve no
// further.
func (o *Session) halve(turns int) bool {
	o.Limit = max(turns/2, 1)
	switch {
	case turns > 1:
		return true
	case o.Take == 0:
		o.Take = maxTake
	default:
		o.Take /= 2
	}
	return o.Take > 0
}

// done removes a batch's turns. It also removes the session after its last turn.
func (s *State) done(session *Session, turns int) {
	if turns > 0 { // the earlier context has been read
		last := slices.MaxFunc(session.Turns[:turns], func(a, b Turn) int { return a.Compare(b.Turn) }).Turn
		session.Context = slices.DeleteFunc(session.Context, func(c memory.Turn) bool { return c.Compare(last) <= 0 })
	}
	session.Turns = slices.Delete(session.Turns, 0, turns)
	session.Failures, session.Skip, session.Take, session.Plain, session.extracted = 0, 0, 0, false, nil
	if len(session.Turns) > 0 {
		return
	}
	if len(s.Closed) > 0 && session == &s.Closed[0] {
		s.Closed = slices.Delete(s.Closed, 0, 1)
		return
	}
	if session.IdleAfter > 0 { // the session stays until it is closed
		session.Limit = 0
		return
	}
	s.Open = slices.DeleteFunc(s.Open, func(o Session) bool { return o.ID == session.ID })
}

// forget allows the events of a batch in the dead letters to come again. It also allows the end of its session again,
// because they would wait for it.
func (s *State) forget(b Batch) {
	s.Seen = slices.DeleteFunc(s.Seen, func(id string) bool {
		return id == b.CloseID() || id == b.ClosedBy || slices.ContainsFunc(b.Turns, func(t Turn) bool {
			return Event{ID: t.EventID, Turn: &t.Turn}.seenKey() == id
		})
	})
}

// forgetExtracted drops all extracted content, because the bank has changed.
func (s *State) forgetExtracted() {
	for _, sessions := range [][]Session{s.Open, s.Closed} {
		for i := range sessions {
			sessions[i].extracted = nil
		}
	}
}

// wait returns how long no session can become ready without a signal.
func (s *State) wait(t Tuning, now time.Time) time.Duration {
	if s.empty() {
		return t.Linger
	}
	wait := time.Duration(math.MaxInt64)
	for _, o := range s.Open {
		wait = min(wait, o.deadline(t).Sub(now))
	}
	return max(wait, time.Millisecond)
}

func (s *State) empty() bool {
	return len(s.Open) == 0 && len(s.Closed) == 0 && len(s.Erasures) == 0
}
