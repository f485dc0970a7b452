package mem0

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/services/gateway/upstream"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:mem0:"
	DefaultIdle    = 20 * time.Second
	DefaultPoll    = time.Second
	DefaultTimeout = time.Second
)

// How long things are known, and how many events of a tenant are listed.
const (
	keepEvents  = 7 * 24 * time.Hour
	keepRecalls = 24 * time.Hour
	maxEvents   = 10_000
)

// Options are what a State is run with. Zero values have defaults.
type Options struct {
	// Prefix begins the keys in Redis.
	Prefix string
	// Idle is how long nothing is added to a session before it is closed: mem0's clients close none.
	Idle time.Duration
	// Poll is how often idle sessions are looked for.
	Poll time.Duration
	// Timeout is how long a call waits for Redis.
	Timeout time.Duration
	// Now is the clock.
	Now func() time.Time
	// Log is told what callers are not; nil tells nobody.
	Log *slog.Logger
}

func (o Options) filled() Options {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.Idle, DefaultIdle}, {&o.Poll, DefaultPoll}, {&o.Timeout, DefaultTimeout}} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// State is what mem0's API promises and Mneme itself does not keep: events, metadata, who was given something to remember, which sessions
// are idle, what was shown last. It is in Redis, so that all replicas of the gateway know it; keys of a tenant are in one slot of a
// cluster, and those of a user are named by a hash. It is safe for concurrent use. Its errors are problems: the cause is logged.
type State struct {
	redis             goredis.UniversalClient
	ingest            *upstream.Ingester
	o                 Options
	touched, due      *goredis.Script
	closed, whileKept *goredis.Script
}

// NewState makes a state over a Redis, which stays the caller's to close; it does not wait for it. Idle sessions are closed by ingest.
func NewState(redis goredis.UniversalClient, ingest *upstream.Ingester, o Options) *State {
	return &State{
		redis: redis, ingest: ingest, o: o.filled(),
		touched: touchScript(), due: dueScript(), closed: closedScript(), whileKept: whileKeptScript(),
	}
}

// note is what was given beside what was said.
type note struct {
	Metadata map[string]any `json:"metadata,omitempty"`
	Agent    string         `json:"agent_id,omitempty"`
	App      string         `json:"app_id,omitempty"`
	// ID and Created are those of the memory of which an update wrote a version: clients know it by them, whatever version holds.
	ID      string    `json:"memory_id,omitempty"`
	Created time.Time `json:"created_at,omitzero"`
	// Updated is when metadata was changed without a new version.
	Updated time.Time `json:"updated_at,omitzero"`
}

func (n note) empty() bool { return len(n.Metadata) == 0 && n.Agent == "" && n.App == "" && n.ID == "" }

// event is an addition. Its turns are turnID(ID, 0) and so on.
type event struct {
	ID      string    `json:"id"`
	User    string    `json:"user"`
	Session string    `json:"session"`
	Turns   int       `json:"turns"`
	At      time.Time `json:"at"`
	// Done says that it is known to be done.
	Done bool `json:"-"`
}

func (e event) turnIDs() []string {
	out := make([]string, e.Turns)
	for i := range out {
		out[i] = turnID(e.ID, i)
	}
	return out
}

// Fields of an event in Redis.
const (
	eventField = "event"
	doneField  = "done"
)

// key is a key of a tenant.
func (s *State) key(tenant, rest string) string { return s.o.Prefix + "{" + tenant + "}:" + rest }

// of is a key of a user.
func (s *State) of(scope memory.Scope, what string) string {
	sum := sha256.Sum256([]byte(scope.User))
	return s.key(scope.Tenant, what+":"+base64.RawURLEncoding.EncodeToString(sum[:18]))
}

func (s *State) eventKey(tenant, id string) string { return s.key(tenant, "event:"+id) }

// in does something in Redis, in time.
func (s *State) in(ctx context.Context, what string, do func(context.Context) error) error {
	asking, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	err := do(asking)
	if err == nil || errors.Is(err, goredis.Nil) {
		return err
	}
	if ctx.Err() == nil {
		s.o.Log.ErrorContext(ctx, "mem0's API: "+what, "error", err)
	}
	return door.Problem{
		Status: http.StatusServiceUnavailable, Code: door.CodeUnavailable, RetryAfter: time.Second,
		Detail: "what this API keeps beside the memories is not available at the moment",
	}
}

// pipelined does several things in Redis at once.
func (s *State) pipelined(ctx context.Context, what string, do func(context.Context, goredis.Pipeliner)) error {
	return s.in(ctx, what, func(ctx context.Context) error {
		_, err := s.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
			do(ctx, p)
			return nil
		})
		return err
	})
}

// encoded is a value as JSON. What is kept are texts and numbers, which always encode.
func encoded(v any) (string, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	return string(body), nil
}

// decode reads what encoded wrote. Numbers in metadata stay as they are.
func decode(body string, to any) error {
	from := json.NewDecoder(strings.NewReader(body))
	from.UseNumber()
	if err := from.Decode(to); err != nil {
		return fmt.Errorf("decode what is kept: %w", err)
	}
	return nil
}

// score is a time in milliseconds, for sorted sets.
func score(t time.Time) float64 { return float64(t.UnixMilli()) }

// timeOfScore is a time of a sorted set.
func timeOfScore(v float64) time.Time { return time.UnixMilli(int64(v)).UTC() }

// begin keeps an event with what was given beside it, and that its user was seen.
func (s *State) begin(ctx context.Context, scope memory.Scope, e event, n note) error {
	body, err := encoded(e)
	if err != nil {
		return err
	}
	beside, err := encoded(n)
	if err != nil {
		return err
	}
	old := fmt.Sprintf("(%.0f", score(e.At.Add(-keepEvents)))
	return s.pipelined(ctx, "keep an event", func(ctx context.Context, p goredis.Pipeliner) {
		p.HSet(ctx, s.eventKey(scope.Tenant, e.ID), eventField, body)
		p.Expire(ctx, s.eventKey(scope.Tenant, e.ID), keepEvents)
		for _, list := range []string{s.key(scope.Tenant, "events"), s.of(scope, "events")} {
			p.ZAdd(ctx, list, goredis.Z{Score: score(e.At), Member: e.ID})
			p.ZRemRangeByScore(ctx, list, "-inf", old)
			p.Expire(ctx, list, keepEvents)
		}
		p.ZRemRangeByRank(ctx, s.key(scope.Tenant, "events"), 0, -maxEvents-1)
		p.ZAddNX(ctx, s.key(scope.Tenant, "users:first"), goredis.Z{Score: score(e.At), Member: scope.User})
		p.ZAdd(ctx, s.key(scope.Tenant, "users"), goredis.Z{Score: score(e.At), Member: scope.User})
		p.ZAdd(ctx, s.tenantsKey(), goredis.Z{Score: score(e.At), Member: scope.Tenant})
		if !n.empty() {
			p.HSet(ctx, s.of(scope, "notes"), e.ID, beside)
		}
	})
}

// drop removes an event of what did not get in.
func (s *State) drop(ctx context.Context, scope memory.Scope, id string) error {
	return s.pipelined(ctx, "drop an event", func(ctx context.Context, p goredis.Pipeliner) {
		p.Del(ctx, s.eventKey(scope.Tenant, id))
		p.ZRem(ctx, s.key(scope.Tenant, "events"), id)
		p.ZRem(ctx, s.of(scope, "events"), id)
		p.HDel(ctx, s.of(scope, "notes"), id)
	})
}

// done notes that an event is done, where it is still known.
func (s *State) done(ctx context.Context, scope memory.Scope, id string) error {
	return s.in(ctx, "note that an event is done", func(ctx context.Context) error {
		return s.whileKept.Run(ctx, s.redis, []string{s.eventKey(scope.Tenant, id)}, doneField, "1").Err()
	})
}

// event returns an event of a tenant, if it is known.
func (s *State) event(ctx context.Context, tenant, id string) (event, bool, error) {
	var kept map[string]string
	err := s.in(ctx, "read an event", func(ctx context.Context) (err error) {
		kept, err = s.redis.HGetAll(ctx, s.eventKey(tenant, id)).Result()
		return err
	})
	if err != nil || kept[eventField] == "" {
		return event{}, false, err
	}
	out := event{Done: kept[doneField] != ""}
	return out, true, decode(kept[eventField], &out)
}

// events returns a page of the events of a user, or of the tenant where the scope names none, the newest first, and how many there are.
func (s *State) events(ctx context.Context, scope memory.Scope, p page) (list []event, count int, err error) {
	key := s.key(scope.Tenant, "events")
	if scope.User != "" {
		key = s.of(scope, "events")
	}
	members, count, err := s.newest(ctx, key, p)
	if err != nil {
		return nil, 0, err
	}
	kept := make([]*goredis.MapStringStringCmd, len(members))
	err = s.pipelined(ctx, "read events", func(ctx context.Context, p goredis.Pipeliner) {
		for i, m := range members {
			kept[i] = p.HGetAll(ctx, s.eventKey(scope.Tenant, m.Member.(string)))
		}
	})
	if err != nil {
		return nil, 0, err
	}
	for _, k := range kept {
		fields := k.Val()
		if fields[eventField] == "" { // forgotten in the meantime
			continue
		}
		e := event{Done: fields[doneField] != ""}
		if err := decode(fields[eventField], &e); err != nil {
			return nil, 0, err
		}
		list = append(list, e)
	}
	return list, count, nil
}

// newest returns a page of a sorted set, the highest first, and how many members it has.
func (s *State) newest(ctx context.Context, key string, p page) ([]goredis.Z, int, error) {
	var members *goredis.ZSliceCmd
	var count *goredis.IntCmd
	err := s.pipelined(ctx, "read a list", func(ctx context.Context, pipe goredis.Pipeliner) {
		first := int64(p.first())
		members, count = pipe.ZRevRangeWithScores(ctx, key, first, first+int64(p.size)-1), pipe.ZCard(ctx, key)
	})
	if err != nil {
		return nil, 0, err
	}
	return members.Val(), int(count.Val()), nil
}
