package conversations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/local/cli/console"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// deadLetterPoll is the pause between two reads of dead letters.
const deadLetterPoll = time.Second

// deadLetters are the dead letters of the tenant's turns since the watch began.
type deadLetters struct {
	tenant string
	log    bus.Log
	next   map[int]int64 // next offset of each partition
	readAt time.Time
	byTurn map[turnKey]*mnemev1.DeadLetter
}

// turnKey names a turn, or the end of a session if turn is empty.
type turnKey struct{ user, session, turn string }

// watchDeadLetters starts a watch at the end of the dead letter topic.
func watchDeadLetters(ctx context.Context, s *console.Session) (*deadLetters, error) {
	busClient, err := openBus(ctx, s)
	if err != nil {
		return nil, err
	}
	log, err := busClient.Log(contract.TopicDeadLetters)
	if err = errors.Join(err, busClient.Close()); err != nil {
		return nil, err
	}
	l := &deadLetters{tenant: s.Tenant, log: log, next: map[int]int64{}, byTurn: map[turnKey]*mnemev1.DeadLetter{}}
	partitions, err := log.Partitions(ctx)
	for _, p := range partitions {
		if err == nil {
			_, l.next[p], err = log.Bounds(ctx, p)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("look for dead letters: %w", err), log.Close())
	}
	return l, nil
}

// read reads the new dead letters.
func (l *deadLetters) read(ctx context.Context) error {
	l.readAt = time.Now()
	return bus.ScanLogFrom(ctx, l.log, l.next, func(m bus.Message) {
		l.next[m.Partition] = m.Offset + 1
		dead := bus.Replayable(m)
		if of, ok := subject(dead, l.tenant); ok {
			l.byTurn[of] = dead
		}
	})
}

// subject returns the turn or session end in a dead letter. It returns false for any other record and for other
// tenants.
func subject(dead *mnemev1.DeadLetter, tenant string) (turnKey, bool) {
	var of contract.Envelope
	var turn *memory.Turn
	switch dead.GetTopic() {
	case contract.TopicSessionEvents:
		e, err := contract.DecodeSessionEvent(dead.GetKey(), dead.GetValue(), time.Now())
		if err != nil {
			return turnKey{}, false
		}
		of, turn = e.Envelope, e.Turn
	case contract.TopicSalientTurns:
		e, err := contract.DecodeSalientEvent(dead.GetKey(), dead.GetValue(), time.Now())
		if err != nil {
			return turnKey{}, false
		}
		of, turn = e.Envelope, e.Turn
	}
	out := turnKey{user: of.Scope.User, session: of.SessionID}
	if turn != nil {
		out.turn = turn.ID
	}
	return out, of.Scope.Tenant == tenant && of.SessionID != ""
}

// ofTurn returns the dead letter of a session's turn, or nil.
func (l *deadLetters) ofTurn(s dataset.Session, turn string) *mnemev1.DeadLetter {
	return l.byTurn[turnKey{s.User, s.ID, turn}]
}

// isAbandoned reports whether a session's formation can never complete. Either its end was refused, or its last turn
// became a dead letter in formation.
func (l *deadLetters) isAbandoned(s dataset.Session) bool {
	if l.ofTurn(s, "").GetTopic() == contract.TopicSessionEvents {
		return true
	}
	for i := len(s.Turns) - 1; i >= 0; i-- {
		if topic := l.ofTurn(s, s.Turns[i].ID).GetTopic(); topic != contract.TopicSessionEvents {
			return topic == contract.TopicSalientTurns
		}
	}
	return false
}

// turns names each turn that is a dead letter, with the reason.
func (l *deadLetters) turns(sessions []dataset.Session) []string {
	var out []string
	for _, s := range sessions {
		for _, t := range s.Turns {
			if dead := l.ofTurn(s, t.ID); dead != nil {
				out = append(out, fmt.Sprintf("turn %s of session %s of %s: %s: %s", t.ID, s.ID, s.User, dead.GetHandler(),
					dead.GetReason()))
			}
		}
	}
	return out
}
