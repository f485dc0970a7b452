package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// lettersPoll is how often dead letters are looked for.
const lettersPoll = time.Second

// letters are the dead letters of the tenant's turns that were written since these were watched.
type letters struct {
	tenant string
	log    bus.Log
	next   map[int]int64 // where each partition is read on
	looked time.Time
	of     map[lettered]*mnemev1.DeadLetter
}

// lettered is a turn, or the end of a session where the turn is empty.
type lettered struct{ user, session, turn string }

// watchLetters begins behind the letters that there are.
func (s *session) watchLetters(ctx context.Context) (*letters, error) {
	busClient, err := s.openBus(ctx)
	if err != nil {
		return nil, err
	}
	log, err := busClient.Log(contract.TopicDeadLetters)
	if err = errors.Join(err, busClient.Close()); err != nil {
		return nil, err
	}
	l := &letters{tenant: s.Tenant, log: log, next: map[int]int64{}, of: map[lettered]*mnemev1.DeadLetter{}}
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

// look reads the letters that have come.
func (l *letters) look(ctx context.Context) error {
	l.looked = time.Now()
	return bus.ScanLogFrom(ctx, l.log, l.next, func(m bus.Message) {
		l.next[m.Partition] = m.Offset + 1
		dead := bus.Replayable(m)
		if of, ok := about(dead, l.tenant); ok {
			l.of[of] = dead
		}
	})
}

// about says what a dead letter is about; false where that is no turn of the tenant's, and no end of a session.
func about(dead *mnemev1.DeadLetter, tenant string) (lettered, bool) {
	var of contract.Envelope
	var turn *memory.Turn
	switch dead.GetTopic() {
	case contract.TopicSessionEvents:
		e, err := contract.DecodeSessionEvent(dead.GetKey(), dead.GetValue(), time.Now())
		if err != nil {
			return lettered{}, false
		}
		of, turn = e.Envelope, e.Turn
	case contract.TopicSalientTurns:
		e, err := contract.DecodeSalientEvent(dead.GetKey(), dead.GetValue(), time.Now())
		if err != nil {
			return lettered{}, false
		}
		of, turn = e.Envelope, e.Turn
	}
	out := lettered{user: of.Scope.User, session: of.SessionID}
	if turn != nil {
		out.turn = turn.ID
	}
	return out, of.Scope.Tenant == tenant && of.SessionID != ""
}

// ofTurn is the letter of a session's turn, nil where there is none.
func (l *letters) ofTurn(s dataset.Session, turn string) *mnemev1.DeadLetter {
	return l.of[lettered{s.User, s.ID, turn}]
}

// givenUp reports whether nothing will form a session to its end: that was refused, or the last turn that reached formation is a letter.
func (l *letters) givenUp(s dataset.Session) bool {
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

// turns says of each turn that is a letter which it is and why.
func (l *letters) turns(sessions []dataset.Session) []string {
	var out []string
	for _, s := range sessions {
		for _, t := range s.Turns {
			if dead := l.ofTurn(s, t.ID); dead != nil {
				out = append(out, fmt.Sprintf("turn %s of session %s of %s: %s: %s", t.ID, s.ID, s.User, dead.GetHandler(), dead.GetReason()))
			}
		}
	}
	return out
}
