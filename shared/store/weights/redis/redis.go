// Package redis keeps weights and traces in Redis or Valkey, version 7.0 or later, alone or as a cluster.
//
// All keys of one change of a tenant's weights have the tenant's hash tag. So a cluster keeps them on one node and
// one script can change them. A user's traces, which have by far the most bytes, have a tag of the user, so that a
// large tenant's traces are spread over the nodes. Tags are hexadecimal SHA-256 sums. So no character of an id has a
// meaning to the cluster, and the keys contain no user id.
package redis

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// DefaultPrefix is the default prefix of a store's keys.
const DefaultPrefix = "mneme:weights:"

// Options configure a store.
type Options struct {
	// Limits limit the stored data. All replicas must have the same.
	Limits weights.Limits
	// Prefix is the prefix of every key; empty means DefaultPrefix. It must not contain braces.
	Prefix string
	// Now is the clock for the ages of traces; nil means time.Now. Keys expire by the server's clock.
	Now func() time.Time
}

// Store is a weights.Store in Redis. Errors of the connection or the server are retryable.
type Store struct {
	client  goredis.UniversalClient
	limits  weights.Limits
	prefix  string
	now     func() time.Time
	scripts scripts
}

var _ weights.Store = (*Store)(nil)

// New returns a store over a client. The caller closes the client. New sends no command.
func New(client goredis.UniversalClient, o Options) (*Store, error) {
	if err := o.Limits.Validate(); err != nil {
		return nil, err
	}
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	if strings.ContainsAny(o.Prefix, "{}") {
		return nil, fmt.Errorf("weights prefix %q contains a brace, want none: braces mark the hash tag", o.Prefix)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{client: client, limits: o.Limits, prefix: o.Prefix, now: o.Now, scripts: newScripts()}, nil
}

// Fields of a tenant's state.
const (
	fieldRevision = "revision"
	fieldBody     = "body"
)

// Load implements weights.Tenants. It reads the revision first, because that is usually sufficient.
func (s *Store) Load(ctx context.Context, tenant string, known uint64) (weights.Record, error) {
	key := s.tenantKeys(tenant).state
	revision, err := s.client.HGet(ctx, key, fieldRevision).Uint64()
	if errors.Is(err, goredis.Nil) {
		return weights.Record{}, nil
	}
	if err != nil {
		return weights.Record{}, fmt.Errorf("read revision of weights: %w", err)
	}
	if revision == known {
		return weights.Record{Revision: revision}, nil
	}
	var stored struct {
		Revision uint64 `redis:"revision"`
		Body     []byte `redis:"body"`
	}
	if err := s.client.HMGet(ctx, key, fieldRevision, fieldBody).Scan(&stored); err != nil {
		return weights.Record{}, fmt.Errorf("read weights: %w", err)
	}
	return weights.Record{Revision: stored.Revision, Body: stored.Body}, nil
}

// Known implements weights.Tenants.
func (s *Store) Known(
	ctx context.Context, scope memory.Scope, eventIDs []string, since time.Time,
) (weights.Known, error) {
	k := weights.Known{Seen: make([]bool, len(eventIDs))}
	key := s.events(scope)
	pipe := s.client.Pipeline()
	scores := make([]*goredis.FloatCmd, len(eventIDs))
	for i, id := range eventIDs {
		scores[i] = pipe.ZScore(ctx, key, id)
	}
	recent := pipe.ZCount(ctx, key, "("+strconv.FormatInt(since.UnixMilli(), 10), "+inf")
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, goredis.Nil) {
		return weights.Known{}, fmt.Errorf("read the learned reports: %w", err)
	}
	for i, score := range scores {
		switch err := score.Err(); {
		case err == nil:
			k.Seen[i] = true
		case !errors.Is(err, goredis.Nil):
			return weights.Known{}, fmt.Errorf("read the learned reports: %w", err)
		}
	}
	k.Recent = int(recent.Val())
	if err := recent.Err(); err != nil {
		return weights.Known{}, fmt.Errorf("count the learned reports: %w", err)
	}
	return k, nil
}

// Commit implements weights.Tenants.
func (s *Store) Commit(ctx context.Context, tenant string, c weights.Change) error {
	keys := s.tenantKeys(tenant)
	ttl := s.limits.EventTTL()
	args := make([]any, 0, 7+2*(len(c.Versions)+len(c.Events)))
	args = append(args, strconv.FormatUint(c.From, 10), strconv.FormatUint(c.From+1, 10), c.Body, s.limits.Versions,
		s.now().Add(-ttl).UnixMilli(), (2 * ttl).Milliseconds(), len(c.Versions))
	for _, v := range c.Versions {
		args = append(args, strconv.FormatUint(v.Number, 10), v.Body)
	}
	for _, e := range c.Events {
		args = append(args, e.Time.UnixMilli(), e.ID)
	}
	names := []string{keys.state, keys.versions, s.events(memory.Scope{Tenant: tenant, User: c.User})}
	done, err := s.scripts.commit.Run(ctx, s.client, names, args...).Bool()
	if err != nil {
		return fmt.Errorf("write weights: %w", err)
	}
	if !done {
		return weights.ErrConflict
	}
	return nil
}

type tenantKeys struct{ state, versions string }

func (s *Store) tenantKeys(tenant string) tenantKeys {
	tag := s.tenantTag(tenant)
	return tenantKeys{tag + "state", tag + "versions"}
}

func (s *Store) tenantTag(tenant string) string { return s.prefix + "{" + digest(tenant) + "}:" }

// events returns the key of a user's events. It has the tenant's tag, because it changes together with the weights.
func (s *Store) events(scope memory.Scope) string {
	return s.tenantTag(scope.Tenant) + "events:" + digest(scope.Key())
}

func digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// Versions implements weights.Tenants.
func (s *Store) Versions(ctx context.Context, tenant string) ([]weights.Version, error) {
	bodies, err := s.client.HGetAll(ctx, s.tenantKeys(tenant).versions).Result()
	if err != nil {
		return nil, fmt.Errorf("read versions of weights: %w", err)
	}
	out := make([]weights.Version, 0, len(bodies))
	for field, body := range bodies {
		number, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read versions of weights: %w", err)
		}
		out = append(out, weights.Version{Number: number, Body: []byte(body)})
	}
	slices.SortFunc(out, func(a, b weights.Version) int { return cmp.Compare(b.Number, a.Number) })
	return out, nil
}

// PutTrace implements weights.Traces.
func (s *Store) PutTrace(ctx context.Context, scope memory.Scope, recallID string, trace []byte) error {
	keys, now, ttl := s.userKeys(scope), s.now(), s.limits.TraceTTL
	err := s.scripts.put.Run(ctx, s.client, []string{keys.traces, keys.order},
		recallID, trace, now.UnixMilli(), now.Add(-ttl).UnixMilli(), s.limits.Traces, ttl.Milliseconds()).Err()
	return fault.During("write trace of recall", err)
}

// Traces implements weights.Traces. A trace that expires between the two reads counts as expired.
func (s *Store) Traces(ctx context.Context, scope memory.Scope, recallIDs []string) ([][]byte, error) {
	out := make([][]byte, len(recallIDs))
	if len(recallIDs) == 0 {
		return out, nil
	}
	keys := s.userKeys(scope)
	pipe := s.client.Pipeline()
	bodies := pipe.HMGet(ctx, keys.traces, recallIDs...)
	times := make([]*goredis.FloatCmd, len(recallIDs))
	for i, id := range recallIDs {
		times[i] = pipe.ZScore(ctx, keys.order, id)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, goredis.Nil) {
		return nil, fmt.Errorf("read traces of recalls: %w", err)
	}
	if err := bodies.Err(); err != nil {
		return nil, fmt.Errorf("read traces of recalls: %w", err)
	}
	oldest := s.now().Add(-s.limits.TraceTTL).UnixMilli()
	for i, body := range bodies.Val() {
		at, err := times[i].Result()
		if err != nil && !errors.Is(err, goredis.Nil) {
			return nil, fmt.Errorf("read times of traces: %w", err)
		}
		if text, ok := body.(string); ok && err == nil && int64(at) > oldest {
			out[i] = []byte(text)
		}
	}
	return out, nil
}

// Erase implements weights.Traces. The two tags may be on two nodes of a cluster, hence two commands.
func (s *Store) Erase(ctx context.Context, scope memory.Scope) error {
	keys := s.userKeys(scope)
	pipe := s.client.Pipeline()
	pipe.Del(ctx, keys.traces, keys.order)
	pipe.Del(ctx, s.events(scope))
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("erase traces of recalls: %w", err)
	}
	return nil
}

// Count implements weights.Traces.
func (s *Store) Count(ctx context.Context, scope memory.Scope) (weights.Counts, error) {
	pipe := s.client.Pipeline()
	traces, events := pipe.HLen(ctx, s.userKeys(scope).traces), pipe.ZCard(ctx, s.events(scope))
	if _, err := pipe.Exec(ctx); err != nil {
		return weights.Counts{}, fmt.Errorf("count traces of recalls: %w", err)
	}
	return weights.Counts{Traces: int(traces.Val()), Events: int(events.Val())}, nil
}

type userKeys struct{ traces, order string }

func (s *Store) userKeys(scope memory.Scope) userKeys {
	tag := s.prefix + "{" + digest(scope.Key()) + "}:"
	return userKeys{tag + "traces", tag + "order"}
}
