package mem0

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

const (
	// lease is how long a replica has to close the sessions that it took.
	lease = 30 * time.Second
	// atOnce is how many sessions of a tenant a replica takes at a time.
	atOnce = 100
	// closeWait is how long closing a session may take.
	closeWait = 10 * time.Second
	// logEvery is how often the log says at most that sessions cannot be closed.
	logEvery = 10 * time.Second
)

// member names a session among the idle ones of its tenant.
func member(user, session string) (string, error) { return encoded([2]string{user, session}) }

// sessionOf reads a member.
func sessionOf(member string) (user, session string, err error) {
	var pair [2]string
	err = json.Unmarshal([]byte(member), &pair)
	return pair[0], pair[1], err
}

// idleKeys are the keys of idle sessions of a tenant: when each is to be closed, its last turn, and which are those of a user.
func (s *State) idleKeys(scope memory.Scope) []string {
	return []string{s.Key(scope.Tenant, "idle"), s.Key(scope.Tenant, "last"), s.UserKey(scope, "sessions")}
}

// tenantsKey holds the tenants that have sessions, by when one was used last.
func (s *State) tenantsKey() string { return s.o.Prefix + "tenants" }

// touch notes that a session was used: it is closed when it has been idle, unless it is used again before.
func (s *State) touch(ctx context.Context, scope memory.Scope, session, lastTurn string) error {
	name, err := member(scope.User, session)
	if err != nil {
		return err
	}
	return s.Do(ctx, "note that a session was used", func(ctx context.Context) error {
		at := goredis.Z{Score: score(s.o.Now()), Member: scope.Tenant}
		if err := s.redis.ZAdd(ctx, s.tenantsKey(), at).Err(); err != nil {
			return err
		}
		return s.touched.Run(ctx, s.redis, s.idleKeys(scope), name, lastTurn, s.o.Idle.Milliseconds(), keepEvents.Milliseconds()).Err()
	})
}

// Run closes idle sessions until ctx ends. Any number of replicas may run it.
func (s *State) Run(ctx context.Context) error {
	tick := time.NewTicker(s.o.Poll)
	defer tick.Stop()
	var logged time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := s.closeIdle(ctx); err != nil && ctx.Err() == nil && time.Since(logged) >= logEvery {
			s.o.Log.ErrorContext(ctx, "mem0's API: close idle sessions", "error", err)
			logged = time.Now()
		}
	}
}

// closeIdle closes the sessions that are idle now.
func (s *State) closeIdle(ctx context.Context) error {
	reading, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	old := fmt.Sprintf("(%.0f", score(s.o.Now().Add(-keepEvents)))
	if err := s.redis.ZRemRangeByScore(reading, s.tenantsKey(), "-inf", old).Err(); err != nil {
		return err
	}
	tenants, err := s.redis.ZRange(reading, s.tenantsKey(), 0, -1).Result()
	if err != nil {
		return err
	}
	var failed []error
	for _, id := range tenants {
		failed = append(failed, s.closeIdleOf(ctx, id))
	}
	return errors.Join(failed...)
}

// closeIdleOf closes the sessions of a tenant that are idle now. They are taken for a while, so that another replica closes them where
// this one dies.
func (s *State) closeIdleOf(ctx context.Context, tenantID string) error {
	taking, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	keys := s.idleKeys(memory.Scope{Tenant: tenantID})
	pairs, err := s.due.Run(taking, s.redis, keys[:2], lease.Milliseconds(), atOnce).StringSlice()
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := s.close(ctx, tenantID, pairs[i], pairs[i+1]); err != nil {
			return err // those that are left are closed when the lease is over
		}
	}
	return nil
}

// close closes a session that was taken, and takes it off the idle ones, unless it has been used again. One that can never be closed is
// taken off, too.
func (s *State) close(ctx context.Context, tenantID, name, lastTurn string) error {
	user, session, err := sessionOf(name)
	if err != nil {
		return fmt.Errorf("read an idle session: %w", err)
	}
	ctx, cancel := context.WithTimeout(access.NewContext(ctx, access.Principal{
		Tenant: tenant.Tenant{ID: tenantID}, KeyID: "mem0", Scopes: []access.Scope{access.Ingest},
	}), closeWait)
	defer cancel()
	err = s.ingest.CloseSession(ctx, user, session, lastTurn, s.o.Now())
	if fault.IsTerminal(err) {
		s.o.Log.WarnContext(ctx, "mem0's API: a session cannot be closed", "error", err)
	} else if err != nil {
		return fmt.Errorf("close a session: %w", err)
	}
	return s.closed.Run(ctx, s.redis, s.idleKeys(memory.Scope{Tenant: tenantID, User: user}), name, lastTurn).Err()
}
