package consolidation

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// maxSeen bounds the remembered event ids. It only has to span redeliveries within a run; across
// runs the bank knows which turns it has.
const maxSeen = 2000

// A payload may have 2 MB (see fits), and a batch goes through four of them, with what was made of it beside it.
const (
	// maxBatchBytes bounds the texts that one consolidation takes, unless one turn alone has more.
	maxBatchBytes = 256 << 10
	// maxPendingBytes is how much waits in the state before further signals are left in their channel.
	maxPendingBytes = 512 << 10
	// maxContextBytes bounds the context of one session, and maxContexts that of all sessions together. It does not count as what waits:
	// room for what is only read must never be a reason to put off what is to be formed.
	maxContextBytes = 32 << 10
	maxContexts     = 128 << 10
	// turnBytes is about what a turn costs beside its texts.
	turnBytes = 256
)

func (t Turn) size() int { return turnBytes + len(t.Text) + len(t.Caption) }

// bytes is about how much the state holds.
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

// batch is how many of the waiting turns one consolidation takes, and whether that is as many as it may take.
func (o *Session) batch(maxTurns int) (n int, full bool) {
	if o.Limit > 0 {
		maxTurns = min(maxTurns, o.Limit)
	}
	total := 0
	for n < len(o.Turns) && n < maxTurns {
		if slices.ContainsFunc(o.Turns[:n], func(t Turn) bool { return t.ID == o.Turns[n].ID }) {
			return n, true // a reused id is told from the first once that is kept
		}
		total += o.Turns[n].size()
		if n > 0 && total > maxBatchBytes {
			return n, true
		}
		n++
	}
	return n, n >= maxTurns
}

// State is what waits to be consolidated. It is carried over by continue-as-new.
type State struct {
	// Open are the sessions that may get further turns, by first arrival.
	Open []Session `json:"open,omitempty"`
	// Closed are the sessions that ended, in the order they did: the order they are consolidated in.
	Closed []Session `json:"closed,omitempty"`
	// Erasures wait for the writer. Everything else here came after them.
	Erasures []Event `json:"erasures,omitempty"`
	// Seen are the newest events, oldest first, as Event.seen names them.
	Seen []string `json:"seen,omitempty"`
	// LastFailure says why the last consolidation failed; empty when it did not.
	LastFailure string `json:"last_failure,omitempty"`
}

// Session is the waiting turns of one session.
type Session struct {
	ID    string `json:"id"`
	Turns []Turn `json:"turns,omitempty"`
	// Context are turns that are not formed, in order of arrival. They go with the session.
	Context []memory.Turn `json:"context,omitempty"`
	// Arrived is when its newest event came. Context counts only where there is nothing else: it neither begins nor puts off anything.
	Arrived time.Time `json:"arrived"`
	// TraceParent is that of its newest event.
	TraceParent string `json:"traceparent,omitempty"`
	// ClosedAt is when it ended, and ClosedBy the id of the event that said so; zero while it is open.
	ClosedAt time.Time `json:"closed_at,omitzero"`
	ClosedBy string    `json:"closed_by,omitempty"`
	// IdleAfter closes the session when no event of it comes for so long; 0 means that only an event closes it.
	IdleAfter time.Duration `json:"idle_after,omitempty"`
	// HeardAt is when the newest event of the session came, context included. It is set where IdleAfter is.
	HeardAt time.Time `json:"heard_at,omitzero"`
	// Limit is how many turns a batch may have, because more said too much; 0 means no such limit.
	Limit int `json:"limit,omitempty"`
	// Skip and Take are those of the next batch, whose one turn says too much.
	Skip int `json:"skip,omitempty"`
	Take int `json:"take,omitempty"`
	// Plain is Batch.Plain of the next batch, which is of one turn then.
	Plain bool `json:"plain,omitempty"`
	// Failures counts consecutive unusable model answers.
	Failures int `json:"failures,omitempty"`

	// extracted is what the next batch says, where the decision on that has to be asked for again. It ends with the run.
	extracted *keptExtracted
}

// add takes events in, dropping those it has seen.
func (s *State) add(events []Event, now time.Time) {
	for _, e := range events {
		if e.Erase {
			*s = State{Erasures: append(s.Erasures, e), Seen: []string{e.ID}}
			continue
		}
		seen := e.seen()
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

// seen names the event in State.Seen. Of a turn it tells what was said, and where: an id that comes with something else is not passed
// over as repeated, so that Extract gets to see it.
func (e Event) seen() string {
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
	session.Turns = append(session.Turns, Turn{*e.Turn, e.ID, e.DecidedAt})
}

// addContext keeps a turn that is only to be read. What comes after its session has ended is of no use.
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
	session.hear(e, now)
	if slices.ContainsFunc(session.Context, func(t memory.Turn) bool { return t.ID == e.Turn.ID }) {
		return
	}
	if len(session.Turns) == 0 {
		session.Arrived = now
	}
	session.Context = append(session.Context, *e.Turn)
	for contextBytes(session.Context) > maxContextBytes { // the oldest makes way
		session.Context = slices.Delete(session.Context, 0, 1)
	}
	for s.contextBytes() > maxContexts {
		s.forgetContext()
	}
}

// forgetContext forgets the context of the session that has waited longest.
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

// onlyContext reports whether no turn of the session waits to be formed, and it has not ended.
func (o *Session) onlyContext() bool { return len(o.Turns) == 0 && o.ClosedAt.IsZero() }

// expire forgets sessions in which only context came for Tuning.Idle. A session with an idle time is closed instead (see closeIdle).
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

// contextBytes is about how much turns hold.
func contextBytes(turns []memory.Turn) (n int) {
	for _, t := range turns {
		n += Turn{Turn: t}.size()
	}
	return n
}

// context is what the session's first n turns are read with, in order of time: what was said before the next of the others. A turn that
// says too much by itself is read alone.
func (o *Session) context(n int) []memory.Turn {
	if o.Take > 0 || n == 0 {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(o.Context), func(c memory.Turn) bool {
		formed := func(t Turn) bool { return t.ID == c.ID }
		later := n < len(o.Turns) && c.Time.After(o.Turns[n].Time)
		return later || slices.ContainsFunc(o.Turns, formed)
	})
	slices.SortStableFunc(out, func(a, b memory.Turn) int { return a.Time.Compare(b.Time) })
	return out
}

// waits reports whether a turn waits; another one of its id does not count.
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

// open returns the open session of an event, new if need be.
func (s *State) open(e Event, now time.Time) *Session {
	i := slices.IndexFunc(s.Open, func(o Session) bool { return o.ID == e.SessionID })
	if i < 0 {
		s.Open = append(s.Open, Session{ID: e.SessionID})
		i = len(s.Open) - 1
	}
	s.Open[i].Arrived, s.Open[i].TraceParent = now, e.TraceParent
	s.Open[i].hear(e, now)
	return &s.Open[i]
}

// ready returns the next session to consolidate; closes says that it has ended.
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

// turns is how many turns of a session a consolidation takes at most.
func (t Tuning) turns(ended bool) int {
	if ended {
		return max(t.MaxTurns, t.BatchTurns)
	}
	return t.MaxTurns
}

// maxTake is how much of what one turn says is taken at a time, where all of it is too much.
const maxTake = 256

// halve has the next batch take half as much: of the turns, or of what a single one says. It is false when there is nothing to halve.
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

// done removes a batch's turns, and its session when it is used up.
func (s *State) done(session *Session, turns int) {
	if turns > 0 { // what was said before has been read
		last := slices.MaxFunc(session.Turns[:turns], func(a, b Turn) int { return a.Time.Compare(b.Time) }).Time
		session.Context = slices.DeleteFunc(session.Context, func(c memory.Turn) bool { return !c.Time.After(last) })
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
	if session.IdleAfter > 0 { // it stays until it is closed
		session.Limit = 0
		return
	}
	s.Open = slices.DeleteFunc(s.Open, func(o Session) bool { return o.ID == session.ID })
}

// forget lets the events of a batch that went to the dead letters come again, and the end of its session, for which they would wait.
func (s *State) forget(b Batch) {
	s.Seen = slices.DeleteFunc(s.Seen, func(id string) bool {
		return id == b.CloseID() || id == b.ClosedBy || slices.ContainsFunc(b.Turns, func(t Turn) bool {
			return Event{ID: t.EventID, Turn: &t.Turn}.seen() == id
		})
	})
}

// forgetExtracted has everything extracted anew: the bank is another by now.
func (s *State) forgetExtracted() {
	for _, sessions := range [][]Session{s.Open, s.Closed} {
		for i := range sessions {
			sessions[i].extracted = nil
		}
	}
}

// wait is how long nothing can become ready without a signal.
func (s *State) wait(t Tuning, now time.Time) time.Duration {
	if s.empty() {
		return t.Linger
	}
	wait := time.Duration(math.MaxInt64)
	for _, o := range s.Open {
		wait = min(wait, o.due(t).Sub(now))
	}
	return max(wait, time.Millisecond)
}

func (s *State) empty() bool {
	return len(s.Open) == 0 && len(s.Closed) == 0 && len(s.Erasures) == 0
}
