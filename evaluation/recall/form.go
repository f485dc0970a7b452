package recall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/store/transfer"
)

// formPoll is the interval of requests for a session's state. It is also the precision of formation times.
const formPoll = 10 * time.Millisecond

// form publishes every session and records the formation time. A session waits until the user's previous session is
// formed. Sessions that the service has already are skipped and not timed.
func (r *run) form(ctx context.Context) error {
	var took []float64
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Users)
	for _, s := range r.subjects {
		g.Go(func() error {
			times, refused, err := r.formUser(ctx, s)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, times...)
			r.report.Counts.Refused += refused
			return err
		})
	}
	err := g.Wait()
	r.report.Formation = score.PercentilesOf(took)
	return err
}

func (r *run) formUser(ctx context.Context, s *examined) (took []float64, refused int, err error) {
	began := time.Now()
	for _, session := range s.Sessions {
		d, n, err := r.formSession(ctx, session)
		if err != nil {
			return nil, 0, fmt.Errorf("form session %s of %s: %w", session.ID, s.Scope.User, err)
		}
		refused += n
		if d > 0 {
			took = append(took, milliseconds(d))
		}
	}
	r.logf("formed %s: %d sessions, %d of them now, %d turns, %.1f s", s.Scope.User, len(s.Sessions), len(took),
		len(s.turns), time.Since(began).Seconds())
	return took, refused, nil
}

// formSession publishes a session and returns two values. The first is the time from the acknowledgement of the last
// event until the session is seen as formed. It is 0 if the session was formed before or can never be formed. The
// second is the number of refused events.
func (r *run) formSession(ctx context.Context, s dataset.Session) (time.Duration, int, error) {
	formed, err := r.formed(ctx, s)
	if formed || err != nil {
		return 0, 0, err
	}
	published, err := r.Publish(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	refused := len(published.Refused)
	if refused > 0 {
		r.logf("%d events of session %s of %s are refused, the first: %s", refused, s.ID, s.User, published.Refused[0])
	}
	if !published.Ends {
		return 0, refused, nil
	}
	began := time.Now()
	err = r.awaitFormed(ctx, s)
	return time.Since(began), refused, err
}

var errNotFormed = errors.New("not formed in time")

func (r *run) awaitFormed(ctx context.Context, s dataset.Session) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.FormTimeout, errNotFormed)
	defer cancel()
	tick := time.NewTicker(formPoll)
	defer tick.Stop()
	for {
		formed, err := r.formed(ctx, s)
		if err == nil && formed {
			return nil
		}
		if err != nil && connect.CodeOf(err) != connect.CodeUnavailable && ctx.Err() == nil {
			return err // a temporary failure is retried
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (r *run) formed(ctx context.Context, s dataset.Session) (bool, error) {
	res, err := r.Service.Memories.GetSession(ctx,
		connect.NewRequest(&mnemev1.GetSessionRequest{UserId: s.User, SessionId: s.ID}))
	if err != nil {
		return false, err
	}
	return res.Msg.GetState() == mnemev1.FormationState_FORMATION_STATE_FORMED, nil
}

// read exports the memories of every user.
func (r *run) read(ctx context.Context) error {
	for _, s := range r.subjects {
		if err := r.export(ctx, s); err != nil {
			return fmt.Errorf("read the bank of %s: %w", s.Scope.User, err)
		}
	}
	return nil
}

func (r *run) export(ctx context.Context, s *examined) (err error) {
	stream, err := r.Service.UserData.ExportUser(ctx, connect.NewRequest(&mnemev1.ExportUserRequest{UserId: s.Scope.User}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	var all bytes.Buffer
	for stream.Receive() {
		all.Write(stream.Msg().GetData())
	}
	if err := stream.Err(); err != nil {
		return err
	}
	n := 0
	for line := range bytes.Lines(all.Bytes()) {
		if n++; n == 1 {
			continue // the header
		}
		record, err := transfer.ParseRecord(n, line)
		if err != nil {
			return err
		}
		if record.Memory != nil {
			record.Memory.Vector = nil
			s.entries[record.Memory.ID] = *record.Memory
		}
	}
	return nil
}
