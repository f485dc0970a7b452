// Package records keeps, in Redis, what models were asked and what they answered, for learning from it: the call, what became of the
// answer, and how the memories that it touched fared. It is off unless an operator wants it, because it holds what users said. What is
// kept ages, is bounded by user, and goes with an erasure.
package records

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:records:"
	DefaultTimeout = 2 * time.Second
	DefaultKeep    = 30 * 24 * time.Hour
	DefaultCalls   = 1000
)

// Options are what a Store is run with. Zero values have defaults.
type Options struct {
	// Prefix begins the keys in Redis.
	Prefix string
	// Timeout is how long a call waits for Redis.
	Timeout time.Duration
	// Keep is how long a user's records are kept after the last of them.
	Keep time.Duration `env:"KEEP" envDefault:"720h" desc:"how long a user's records are kept after the last of them"`
	// Calls is how many records are kept of a user, the newest.
	Calls int64 `env:"CALLS" envDefault:"1000" desc:"records kept of a user at most, the newest"`
	// Log is told of records that could not be kept, without what is in them; nil for nobody.
	Log *slog.Logger
}

// Validate checks what the types do not.
func (o Options) Validate() error {
	return errors.Join(
		config.Require(o.Keep > 0, "KEEP", o.Keep, "more than zero"),
		config.Require(o.Calls > 0, "CALLS", o.Calls, "more than 0"),
	)
}

// Store keeps records. It is safe for concurrent use, and for several replicas.
type Store struct {
	redis goredis.UniversalClient
	o     Options
}

// New makes a Store over a Redis, which stays the caller's to close. It does not wait for it.
func New(redis goredis.UniversalClient, o Options) *Store {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	if o.Calls <= 0 {
		o.Calls = DefaultCalls
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{redis: redis, o: o}
}

// Outcome is how a memory that a call touched has fared.
type Outcome struct {
	// Recalled is how often it was shown for a query, Cited how often an answer rested on it, Reported how often the caller said so.
	Recalled int64 `json:"recalled"`
	Cited    int64 `json:"cited"`
	Reported int64 `json:"reported"`
	// Superseded says that an operation of a later record closed it.
	Superseded bool `json:"superseded"`
}

// The outcomes' fields.
const (
	recalled = "r"
	cited    = "c"
	reported = "p"
)

// All keys of a tenant are in one slot of a cluster.
func (s *Store) tenantKey(tenant, rest string) string { return s.o.Prefix + "{" + tenant + "}:" + rest }

func (s *Store) key(scope memory.Scope, rest string) string {
	return s.tenantKey(scope.Tenant, hashed(scope.User)+":"+rest)
}

// hashed stands for a text in a key: it is short and holds none of it.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}

// Keep keeps a record. It never fails a call of a model: what cannot be kept is logged.
func (s *Store) Keep(ctx context.Context, r llm.Record) {
	if err := s.keep(ctx, r); err != nil {
		s.o.Log.WarnContext(ctx, "a call of a model is not recorded", "tenant", r.Scope.Tenant, "role", string(r.Role), "error", err)
	}
}

func (s *Store) keep(ctx context.Context, r llm.Record) error {
	system := ""
	if len(r.Messages) > 0 && r.Messages[0].Role == "system" { // is the same in most records
		system, r.Messages = r.Messages[0].Content, slices.Clone(r.Messages)
		r.Messages[0].Content = hashed(system)
	}
	body, err := packed(r)
	if err != nil {
		return err
	}
	if erased, err := s.erasedAt(ctx, r.Scope); err != nil || !r.At.After(erased) {
		return err
	}
	calls, users, systems := s.key(r.Scope, "calls"), s.tenantKey(r.Scope.Tenant, "users"), s.tenantKey(r.Scope.Tenant, "systems")
	return s.pipelined(ctx, "keep a record", func(p goredis.Pipeliner) {
		p.RPush(ctx, calls, body)
		p.LTrim(ctx, calls, -s.o.Calls, -1)
		p.PExpire(ctx, calls, s.o.Keep)
		p.HSet(ctx, users, hashed(r.Scope.User), r.Scope.User)
		p.PExpire(ctx, users, s.o.Keep)
		p.HSetNX(ctx, systems, hashed(system), system)
		p.PExpire(ctx, systems, s.o.Keep)
	})
}

// erasedAt is when a user was erased lately; zero where that was not.
func (s *Store) erasedAt(ctx context.Context, scope memory.Scope) (time.Time, error) {
	within, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	ms, err := s.redis.Get(within, s.key(scope, "erased")).Int64()
	if errors.Is(err, goredis.Nil) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("look up an erasure: %w", err)
	}
	return time.UnixMilli(ms), nil
}

// Fared notes that memories were shown for a query, and that an answer cited some of them; byCaller says that the caller reported it. It
// notes nothing of users without records, and never fails.
func (s *Store) Fared(ctx context.Context, scope memory.Scope, shown, citedIDs []string, byCaller bool) {
	at := s.key(scope, "outcomes")
	err := func() error {
		within, cancel := context.WithTimeout(ctx, s.o.Timeout)
		defer cancel()
		if n, err := s.redis.Exists(within, s.key(scope, "calls")).Result(); err != nil || n == 0 {
			return err
		}
		return s.pipelined(ctx, "keep outcomes", func(p goredis.Pipeliner) {
			for _, id := range shown {
				p.HIncrBy(ctx, at, id+":"+recalled, 1)
			}
			for _, id := range citedIDs {
				p.HIncrBy(ctx, at, id+":"+cited, 1)
				if byCaller {
					p.HIncrBy(ctx, at, id+":"+reported, 1)
				}
			}
			p.PExpire(ctx, at, s.o.Keep)
		})
	}()
	if err != nil {
		s.o.Log.WarnContext(ctx, "how memories fared is not recorded", "tenant", scope.Tenant, "error", err)
	}
}

// Users returns the users of a tenant that there are records of, in order.
func (s *Store) Users(ctx context.Context, tenant string) ([]string, error) {
	within, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	users, err := s.redis.HVals(within, s.tenantKey(tenant, "users")).Result()
	if err != nil {
		return nil, fmt.Errorf("list users with records: %w", err)
	}
	slices.Sort(users)
	return users, nil
}

// Records returns a user's records, oldest first, and how the memories have fared that they touched, by id.
func (s *Store) Records(ctx context.Context, scope memory.Scope) ([]llm.Record, map[string]Outcome, error) {
	var calls *goredis.StringSliceCmd
	var outcomes, systems *goredis.MapStringStringCmd
	err := s.pipelined(ctx, "read records", func(p goredis.Pipeliner) {
		calls = p.LRange(ctx, s.key(scope, "calls"), 0, -1)
		outcomes = p.HGetAll(ctx, s.key(scope, "outcomes"))
		systems = p.HGetAll(ctx, s.tenantKey(scope.Tenant, "systems"))
	})
	if err != nil {
		return nil, nil, err
	}
	out := make([]llm.Record, len(calls.Val()))
	for i, body := range calls.Val() {
		if err := unpack(body, &out[i]); err != nil {
			return nil, nil, fmt.Errorf("record %d cannot be read: %w", i+1, err)
		}
		if m := out[i].Messages; len(m) > 0 && m[0].Role == "system" {
			m[0].Content = systems.Val()[m[0].Content]
		}
	}
	fared := map[string]Outcome{}
	for _, r := range out {
		for _, id := range r.Closed {
			fared[id] = Outcome{Superseded: true}
		}
	}
	for field, value := range outcomes.Val() {
		if len(field) < 3 {
			continue
		}
		id, what := field[:len(field)-2], field[len(field)-1:]
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, nil, errors.New("a count of outcomes is no number")
		}
		o := fared[id]
		switch what {
		case recalled:
			o.Recalled = n
		case cited:
			o.Cited = n
		case reported:
			o.Reported = n
		}
		fared[id] = o
	}
	return out, fared, nil
}

// Count returns how many records there are of a user.
func (s *Store) Count(ctx context.Context, scope memory.Scope) (int, error) {
	within, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	n, err := s.redis.LLen(within, s.key(scope, "calls")).Result()
	if err != nil {
		return 0, fmt.Errorf("count records: %w", err)
	}
	return int(n), nil
}

// underWay is how long after an erasure a call may end that began before it.
const underWay = time.Hour

// Forget removes all records of a user, also those of calls under way. It is idempotent.
func (s *Store) Forget(ctx context.Context, scope memory.Scope) error {
	return s.pipelined(ctx, "forget records", func(p goredis.Pipeliner) {
		p.Set(ctx, s.key(scope, "erased"), time.Now().UnixMilli(), underWay)
		p.Del(ctx, s.key(scope, "calls"), s.key(scope, "outcomes"))
		p.HDel(ctx, s.tenantKey(scope.Tenant, "users"), hashed(scope.User))
	})
}

// packed is a record as it is kept: prompts are long, and repeat themselves.
func packed(r llm.Record) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := errors.Join(json.NewEncoder(z).Encode(r), z.Close()); err != nil {
		return nil, errors.New("the record cannot be encoded") // the encoder's error might quote it
	}
	return b.Bytes(), nil
}

// maxRecord bounds a record that is read.
const maxRecord = 64 << 20

func unpack(body string, r *llm.Record) error {
	z, err := gzip.NewReader(bytes.NewReader([]byte(body)))
	if err != nil {
		return errors.New("it is not compressed")
	}
	if err := json.NewDecoder(io.LimitReader(z, maxRecord)).Decode(r); err != nil {
		return errors.New("it is no record") // likewise
	}
	return nil
}

func (s *Store) pipelined(ctx context.Context, what string, commands func(goredis.Pipeliner)) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	pipe := s.redis.Pipeline()
	commands(pipe)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
