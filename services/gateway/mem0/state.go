package mem0

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/services/gateway/upstream"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/mem0state"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Defaults of Options.
const (
	DefaultPrefix  = mem0state.DefaultPrefix
	DefaultIdle    = 20 * time.Second
	DefaultPoll    = time.Second
	DefaultTimeout = mem0state.DefaultTimeout
)

// keepEvents is how long the open sessions of a user are listed.
const keepEvents = mem0state.KeepEvents

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

// State is what mem0's API keeps beside the memories: that of mem0state, metadata, and which sessions are idle. It is in Redis, so that all
// replicas of the gateway know it. It is safe for concurrent use.
type State struct {
	*mem0state.Store
	redis        goredis.UniversalClient
	ingest       *upstream.Ingester
	o            Options
	touched, due *goredis.Script
	closed       *goredis.Script
}

// NewState makes a state over a Redis, which stays the caller's to close; it does not wait for it. Idle sessions are closed by ingest.
func NewState(redis goredis.UniversalClient, ingest *upstream.Ingester, o Options) *State {
	o = o.filled()
	return &State{
		Store: mem0state.New(redis, mem0state.Options{Prefix: o.Prefix, Timeout: o.Timeout}), redis: redis, ingest: ingest, o: o,
		touched: touchScript(), due: dueScript(), closed: closedScript(),
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
type event = mem0state.Event

func turnIDs(e event) []string {
	out := make([]string, e.Turns)
	for i := range out {
		out[i] = turnID(e.ID, i)
	}
	return out
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

// begin keeps an event with what was given beside it.
func (s *State) begin(ctx context.Context, scope memory.Scope, token redisstore.Token, e event, n note) error {
	if err := s.Begin(ctx, scope, token, e); err != nil {
		return err
	}
	return s.note(ctx, scope, e.ID, n)
}

// drop removes an event of what did not get in.
func (s *State) drop(ctx context.Context, scope memory.Scope, id string) error {
	if err := s.Drop(ctx, scope, id); err != nil {
		return err
	}
	return s.Do(ctx, "drop a note", func(ctx context.Context) error { return s.redis.HDel(ctx, s.UserKey(scope, "notes"), id).Err() })
}
