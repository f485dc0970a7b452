package mem0state

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:mem0:"
	DefaultTimeout = time.Second
)

const (
	// KeepEvents is how long events and exports are kept.
	KeepEvents  = 7 * redisstore.Day
	keepRecalls = redisstore.Day
	// maxEvents bounds the events of a tenant that are listed.
	maxEvents = 10_000
)

// Options configure a Store. Zero values have defaults.
type Options struct {
	// Prefix begins the keys in Redis.
	Prefix string
	// Timeout bounds each call to Redis.
	Timeout time.Duration
}

// Store keeps the state of mem0's API. It is safe for concurrent use. Its errors are redisstore.ErrErased where the
// user was erased after the request began, and else wrap fault.ErrUnavailable.
type Store struct {
	redisstore.Space
	begin, keepExport, keepRecall, whileKept, erase *goredis.Script
}

// New returns a store over a Redis, which stays the caller's to close. It does not wait for it.
func New(redis goredis.UniversalClient, o Options) *Store {
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	return &Store{
		Space: redisstore.Space{
			Redis: redis, Name: "state of mem0's API", Prefix: o.Prefix, Timeout: redisstore.Or(o.Timeout, DefaultTimeout),
		},
		begin: goredis.NewScript(beginSource), keepExport: goredis.NewScript(keepExportSource),
		keepRecall: goredis.NewScript(keepRecallSource), whileKept: goredis.NewScript(whileKeptSource),
		erase: goredis.NewScript(eraseSource),
	}
}

// Event is an addition.
type Event struct {
	ID      string    `json:"id"`
	User    string    `json:"user"`
	Session string    `json:"session"`
	Turns   int       `json:"turns"`
	At      time.Time `json:"at"`
	// Done says that nothing more becomes of it.
	Done bool `json:"-"`
}

// Fields of an event in Redis.
const (
	eventField = "event"
	doneField  = "done"
)

func (s *Store) eventKey(tenant, id string) string { return s.Key(tenant, "event:"+id) }

func (s *Store) exportKey(tenant, id string) string { return s.Key(tenant, "export:"+id) }

// Begin keeps an event, and that its user was seen.
func (s *Store) Begin(ctx context.Context, scope memory.Scope, token redisstore.Token, e Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	keys := []string{
		s.FenceKey(scope), s.eventKey(scope.Tenant, e.ID), s.Key(scope.Tenant, "events"), s.UserKey(scope, "events"),
		s.Key(scope.Tenant, "users:first"), s.Key(scope.Tenant, "users"),
	}
	return s.fenced(ctx, "keep an event", s.begin, keys, string(token), body, e.ID, e.At.UnixMilli(),
		e.At.Add(-KeepEvents).UnixMilli(), KeepEvents.Milliseconds(), maxEvents, scope.User)
}

// fenced runs a script that returns 0 where the user was erased after the request began.
func (s *Store) fenced(ctx context.Context, what string, script *goredis.Script, keys []string, args ...any) error {
	out, err := s.Eval(ctx, what, script, keys, args...)
	if err != nil {
		return err
	}
	if n, _ := out.Int(); n == 0 {
		return redisstore.ErrErased
	}
	return nil
}

// Drop removes an event.
func (s *Store) Drop(ctx context.Context, scope memory.Scope, id string) error {
	return s.Pipelined(ctx, "drop an event", func(ctx context.Context, p goredis.Pipeliner) {
		p.Del(ctx, s.eventKey(scope.Tenant, id))
		p.ZRem(ctx, s.Key(scope.Tenant, "events"), id)
		p.ZRem(ctx, s.UserKey(scope, "events"), id)
	})
}

// Done marks an event as done if the store still has it.
func (s *Store) Done(ctx context.Context, scope memory.Scope, id string) error {
	_, err := s.Eval(ctx, "note that an event is done", s.whileKept, []string{s.eventKey(scope.Tenant, id)}, doneField,
		"1")
	return err
}

// Event returns an event of a tenant. ok is false if the store does not have it.
func (s *Store) Event(ctx context.Context, tenant, id string) (e Event, ok bool, err error) {
	kept, err := s.Fields(ctx, "read an event", s.eventKey(tenant, id))
	if err != nil {
		return Event{}, false, err
	}
	return eventOf(kept)
}

// eventOf reads an event. ok is false if there is no event.
func eventOf(kept map[string]string) (e Event, ok bool, err error) {
	if kept[eventField] == "" {
		return Event{}, false, nil
	}
	if err := json.Unmarshal([]byte(kept[eventField]), &e); err != nil {
		return Event{}, false, errors.New("read an event: it has no known form") // the error of the reader would quote it
	}
	e.Done = kept[doneField] != ""
	return e, true, nil
}

// Events returns a page of the events of a user, the newest first, and their total number. Without a user in the
// scope, it returns the events of the tenant.
func (s *Store) Events(ctx context.Context, scope memory.Scope, first, size int) (list []Event, count int, err error) {
	key := s.Key(scope.Tenant, "events")
	if scope.User != "" {
		key = s.UserKey(scope, "events")
	}
	members, count, err := s.newest(ctx, key, first, size)
	if err != nil || len(members) == 0 {
		return nil, count, err
	}
	kept := make([]*goredis.MapStringStringCmd, len(members))
	err = s.Pipelined(ctx, "read events", func(ctx context.Context, p goredis.Pipeliner) {
		for i, m := range members {
			kept[i] = p.HGetAll(ctx, s.eventKey(scope.Tenant, m.Member.(string)))
		}
	})
	if err != nil {
		return nil, 0, err
	}
	for _, k := range kept {
		e, ok, err := eventOf(k.Val())
		if err != nil {
			return nil, 0, err
		}
		if ok { // else it was removed in between
			list = append(list, e)
		}
	}
	return list, count, nil
}

// newest returns a page of a sorted set, the highest first, and how many members it has.
func (s *Store) newest(ctx context.Context, key string, first, size int) ([]goredis.Z, int, error) {
	var members *goredis.ZSliceCmd
	var count *goredis.IntCmd
	err := s.Pipelined(ctx, "read a list", func(ctx context.Context, p goredis.Pipeliner) {
		members, count = p.ZRevRangeWithScores(ctx, key, int64(first), int64(first+size)-1), p.ZCard(ctx, key)
	})
	if err != nil {
		return nil, 0, err
	}
	return members.Val(), int(count.Val()), nil
}

// User is a user with an addition over this API.
type User struct {
	ID string
	// First and Last are when something was added.
	First, Last time.Time
}

// Users returns a page of the users of a tenant, the latest first, and how many there are. Where the scope names a
// user, it returns that one alone.
func (s *Store) Users(ctx context.Context, scope memory.Scope, first, size int) ([]User, int, error) {
	if scope.User != "" {
		return s.user(ctx, scope, first)
	}
	members, count, err := s.newest(ctx, s.Key(scope.Tenant, "users"), first, size)
	if err != nil || len(members) == 0 {
		return nil, count, err
	}
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i], _ = m.Member.(string)
	}
	var began []float64
	err = s.Do(ctx, "read users", func(ctx context.Context) (err error) {
		began, err = s.Redis.ZMScore(ctx, s.Key(scope.Tenant, "users:first"), ids...).Result()
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	out := make([]User, len(members))
	for i, m := range members {
		out[i] = User{ids[i], timeOf(began[i]), timeOf(m.Score)}
	}
	return out, count, nil
}

// timeOf reads a score.
func timeOf(ms float64) time.Time { return time.UnixMilli(int64(ms)).UTC() }

// user is Users for one.
func (s *Store) user(ctx context.Context, scope memory.Scope, place int) ([]User, int, error) {
	var first, last *goredis.FloatCmd
	err := s.Pipelined(ctx, "read a user", func(ctx context.Context, p goredis.Pipeliner) {
		first = p.ZScore(ctx, s.Key(scope.Tenant, "users:first"), scope.User)
		last = p.ZScore(ctx, s.Key(scope.Tenant, "users"), scope.User)
	})
	if errors.Is(err, goredis.Nil) {
		return nil, 0, nil
	}
	if err != nil || place > 0 {
		return nil, 1, err
	}
	return []User{{scope.User, timeOf(first.Val()), timeOf(last.Val())}}, 1, nil
}

// Knows reports whether something was added for a user over this API.
func (s *Store) Knows(ctx context.Context, scope memory.Scope) (bool, error) {
	_, count, err := s.user(ctx, scope, 0)
	return count > 0, err
}

// Recall is a recall, with the ids of the memories that it showed, in order.
type Recall struct {
	ID  string   `json:"id"`
	IDs []string `json:"ids"`
}

// KeepRecall keeps the last recall of a user for a day.
func (s *Store) KeepRecall(ctx context.Context, scope memory.Scope, token redisstore.Token, r Recall) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a recall: %w", err)
	}
	return s.fenced(ctx, "keep a recall", s.keepRecall, []string{s.FenceKey(scope), s.UserKey(scope, "recall")},
		string(token), body, keepRecalls.Milliseconds())
}

// LastRecall returns the last recall of a user. It is empty if there was no recall.
func (s *Store) LastRecall(ctx context.Context, scope memory.Scope) (out Recall, err error) {
	var body string
	err = s.Do(ctx, "read a recall", func(ctx context.Context) (err error) {
		body, err = s.Redis.Get(ctx, s.UserKey(scope, "recall")).Result()
		return err
	})
	if errors.Is(err, goredis.Nil) {
		return Recall{}, nil
	}
	if err == nil && json.Unmarshal([]byte(body), &out) != nil {
		err = errors.New("read a recall: it has no known form")
	}
	return out, err
}

// DropRecall removes the last recall of a user.
func (s *Store) DropRecall(ctx context.Context, scope memory.Scope) error {
	return s.Do(ctx, "remove a recall", func(ctx context.Context) error {
		return s.Redis.Del(ctx, s.UserKey(scope, "recall")).Err()
	})
}

// KeepExport keeps the request of an export of users of a tenant, with the token of each.
func (s *Store) KeepExport(
	ctx context.Context, tenant, id string, users []string, tokens []redisstore.Token, request []byte,
) error {
	keys, args := []string{s.exportKey(tenant, id)}, []any{id, request, KeepEvents.Milliseconds()}
	for i, user := range users {
		scope := memory.Scope{Tenant: tenant, User: user}
		keys, args = append(keys, s.FenceKey(scope), s.UserKey(scope, "exports")), append(args, string(tokens[i]))
	}
	return s.fenced(ctx, "keep an export", s.keepExport, keys, args...)
}

// Export returns the request of an export. ok is false if the store does not have it.
func (s *Store) Export(ctx context.Context, tenant, id string) (request []byte, ok bool, err error) {
	err = s.Do(ctx, "read an export", func(ctx context.Context) (err error) {
		request, err = s.Redis.Get(ctx, s.exportKey(tenant, id)).Bytes()
		return err
	})
	if errors.Is(err, goredis.Nil) {
		return nil, false, nil
	}
	return request, err == nil, err
}
