// Package decisions keeps, in Redis, a filter's decisions on turns and the last turns of sessions. So a model decides
// on a turn only once, despite republished events, replays and restarts. It reads the turn with the turns before it.
// The store keeps hashes and scores for some days, and the last turns of sessions for some hours. An erasure removes
// both.
package decisions

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:filter:"
	DefaultTimeout = 2 * time.Second
	DefaultKeep    = 7 * 24 * time.Hour
	DefaultRecent  = 6 * time.Hour
)

const (
	day = redisstore.Day
	// maxKeep limits Options.Keep, because an erasure searches all days of that time.
	maxKeep = 90 * day
	// maxRecent is the number of a session's last turns that are kept as context. maxSessions is the maximum number of
	// sessions per user. Above it all are dropped, as they are after Options.Recent.
	maxRecent, maxSessions = 6, 50
	// maxText limits the stored text of a turn, in bytes.
	maxText = 1000
)

// Options configure a Store. Zero values have defaults.
type Options struct {
	// Prefix is the prefix of the keys in Redis.
	Prefix string
	// Timeout is the timeout of each call to Redis.
	Timeout time.Duration
	// Keep is how long a decision is stored, in whole days.
	Keep time.Duration `env:"MNEME_FILTER_KEEP" envDefault:"168h" desc:"how long a model's decision on a turn is kept in Redis to avoid a second call, in days of 24h"`
	// Recent is how long the last turns of a session are stored.
	Recent time.Duration `envDefault:"6h"`
	// Now is the clock for the current day.
	Now func() time.Time
}

// Validate checks the limits that the types do not express.
func (o Options) Validate() error {
	return errors.Join(
		config.Require(o.Keep >= day && o.Keep%day == 0 && o.Keep <= maxKeep, "MNEME_FILTER_KEEP", o.Keep,
			"24h to 2160h, in days of 24h"),
	)
}

func (o Options) filled() Options {
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Keep, o.Recent = redisstore.Or(o.Keep, DefaultKeep), redisstore.Or(o.Recent, DefaultRecent)
	return o
}

// Store keeps decisions and recent turns. It is safe for concurrent use, and for several replicas: one replica at a
// time decides on a user's turns.
type Store struct {
	redisstore.Space
	o Options
}

var _ redisstore.Erasable = (*Store)(nil)

// New returns a Store over a Redis client. The caller closes the client. New does not wait for Redis.
func New(redis goredis.UniversalClient, o Options) *Store {
	o = o.filled()
	return &Store{
		Space: redisstore.Space{
			Redis: redis, Name: "decisions of the filter", Prefix: o.Prefix, Timeout: redisstore.Or(o.Timeout, DefaultTimeout),
		},
		o: o,
	}
}

// Of returns a filter with the decisions of another filter. It calls the other filter only for turns without a stored
// decision. Turns are equal if id and text are equal. Errors come from the other filter or from Redis. They are
// retryable: the filter never decides without the stored decisions.
func (s *Store) Of(f formation.Filter) formation.Filter { return &filter{asks: f, store: s} }

type filter struct {
	asks  formation.Filter
	store *Store
}

// Filter implements formation.Filter.
func (f *filter) Filter(
	ctx context.Context, scope memory.Scope, turns, before []memory.Turn,
) ([]memory.SaliencyDecision, error) {
	out, err := f.store.find(ctx, scope, turns)
	if err != nil {
		return nil, err
	}
	var asked []memory.Turn
	var places []int
	for i, t := range turns {
		if out[i].PolicyVersion == "" {
			asked, places = append(asked, t), append(places, i)
		}
	}
	if len(asked) == 0 {
		return out, nil
	}
	recent, err := f.store.recent(ctx, scope, asked)
	if err != nil {
		return nil, err
	}
	made, err := f.asks.Filter(ctx, scope, asked, toRead(before, recent, turns, asked))
	if err != nil {
		return nil, err
	}
	if len(made) != len(asked) {
		return nil, fmt.Errorf("%d decisions on %d turns", len(made), len(asked))
	}
	for n, i := range places {
		out[i] = made[n]
	}
	return out, f.store.write(ctx, scope, asked, made, recent)
}

// toRead returns the context for new turns: the given turns, the stored turns, and the turns of the batch with an
// earlier decision.
func toRead(before []memory.Turn, recent map[string][]memory.Turn, turns, asked []memory.Turn) []memory.Turn {
	out := slices.Clone(before)
	for _, session := range sessionsOf(asked) {
		out = append(out, recent[session]...)
	}
	out = append(out, turns...)
	known := map[string]bool{}
	for _, t := range asked {
		known[t.ID] = true
	}
	return slices.DeleteFunc(out, func(t memory.Turn) bool {
		again := known[t.ID]
		known[t.ID] = true
		return again
	})
}

func sessionsOf(turns []memory.Turn) []string {
	var out []string
	for _, t := range turns {
		if !slices.Contains(out, t.SessionID) {
			out = append(out, t.SessionID)
		}
	}
	return out
}

// hashed replaces texts in keys and fields. It is short, contains none of the texts, and differs for different texts.
func hashed(texts ...string) string {
	return base64.RawURLEncoding.EncodeToString(redisstore.Digest(texts...)[:15])
}

func fieldOf(t memory.Turn) string {
	return hashed(t.ID, t.SessionID, t.Speaker, string(t.Role), t.Text, t.Caption)
}

func (s *Store) key(scope memory.Scope, rest string) string {
	return s.Key(scope.Tenant, hashed(scope.User)+":"+rest)
}

// days returns the keys of decisions stored within a time, today's first.
func (s *Store) days(scope memory.Scope, keep time.Duration) []string {
	out := redisstore.Dates(s.o.Now(), keep)
	for i, date := range out {
		out[i] = s.key(scope, date)
	}
	return out
}

func (s *Store) recentKey(scope memory.Scope) string { return s.key(scope, "recent") }

// find returns the stored decisions on turns. An empty policy version means no decision.
func (s *Store) find(ctx context.Context, scope memory.Scope, turns []memory.Turn) ([]memory.SaliencyDecision, error) {
	out := make([]memory.SaliencyDecision, len(turns))
	if len(turns) == 0 {
		return out, nil
	}
	fields := make([]string, len(turns))
	for i, t := range turns {
		fields[i] = fieldOf(t)
	}
	var days []*goredis.SliceCmd
	err := s.Pipelined(ctx, "look up decisions", func(ctx context.Context, p goredis.Pipeliner) {
		for _, key := range s.days(scope, s.o.Keep) {
			days = append(days, p.HMGet(ctx, key, fields...))
		}
	})
	if err != nil {
		return nil, err
	}
	for _, found := range days {
		for i, value := range found.Val() {
			text, ok := value.(string)
			if !ok || out[i].PolicyVersion != "" {
				continue
			}
			if err := json.Unmarshal([]byte(text), &out[i]); err != nil {
				return nil, errors.New("read a stored decision: it has no known form")
			}
		}
	}
	return out, nil
}

// recent returns the last turns of the sessions of turns.
func (s *Store) recent(ctx context.Context, scope memory.Scope, turns []memory.Turn) (map[string][]memory.Turn, error) {
	sessions := sessionsOf(turns)
	fields := make([]string, len(sessions))
	for i, session := range sessions {
		fields[i] = hashed(session)
	}
	var values []any
	err := s.Do(ctx, "look up recent turns", func(ctx context.Context) (err error) {
		values, err = s.Redis.HMGet(ctx, s.recentKey(scope), fields...).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	out := map[string][]memory.Turn{}
	for i, value := range values {
		if text, ok := value.(string); ok {
			var turns []memory.Turn
			if err := json.Unmarshal([]byte(text), &turns); err != nil {
				return nil, errors.New("read recent turns: they have no known form") // the decoder's error would quote the turns
			}
			out[sessions[i]] = turns
		}
	}
	return out, nil
}

// write stores decisions on turns, and the turns as the last ones of their sessions.
func (s *Store) write(
	ctx context.Context, scope memory.Scope, turns []memory.Turn, made []memory.SaliencyDecision,
	recent map[string][]memory.Turn,
) error {
	var decisions, last []any
	for i, t := range turns {
		body, err := json.Marshal(made[i])
		if err != nil {
			return err
		}
		decisions = append(decisions, fieldOf(t), body)
		t.Text, t.Caption = short(t.Text), short(t.Caption)
		now := append(recent[t.SessionID], t)
		recent[t.SessionID] = now[max(0, len(now)-maxRecent):]
	}
	for _, session := range sessionsOf(turns) {
		body, err := json.Marshal(recent[session])
		if err != nil {
			return errors.New("store recent turns: cannot encode them")
		}
		last = append(last, hashed(session), body)
	}
	var sessions *goredis.IntCmd
	today, at := s.days(scope, 0)[0], s.recentKey(scope)
	err := s.Pipelined(ctx, "keep decisions", func(ctx context.Context, p goredis.Pipeliner) {
		p.HSet(ctx, today, decisions...)
		p.PExpire(ctx, today, s.o.Keep+day)
		p.HSet(ctx, at, last...)
		p.PExpire(ctx, at, s.o.Recent)
		sessions = p.HLen(ctx, at)
	})
	if err != nil || sessions.Val() <= maxSessions {
		return err
	}
	return s.Pipelined(ctx, "forget recent turns", func(ctx context.Context, p goredis.Pipeliner) { p.Del(ctx, at) })
}

// short returns the part of a text that is stored as context.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + " ..."
}

// Count implements redisstore.Erasable: it counts decisions, and sessions with recent turns, of any age.
func (s *Store) Count(ctx context.Context, scope memory.Scope, _ string) (int, error) {
	var counts []*goredis.IntCmd
	err := s.Pipelined(ctx, "count decisions", func(ctx context.Context, p goredis.Pipeliner) {
		for _, key := range append(s.days(scope, maxKeep+day), s.recentKey(scope)) {
			counts = append(counts, p.HLen(ctx, key))
		}
	})
	n := 0
	for _, c := range counts {
		n += int(c.Val())
	}
	return n, err
}

// Erase implements redisstore.Erasable. It also removes data stored after the erasure began: the only effect is
// another model call.
func (s *Store) Erase(ctx context.Context, scope memory.Scope, _ string) error {
	return s.Pipelined(ctx, "forget decisions", func(ctx context.Context, p goredis.Pipeliner) {
		p.Del(ctx, append(s.days(scope, maxKeep+day), s.recentKey(scope))...)
	})
}
