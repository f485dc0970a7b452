// Package records stores in Redis the prompts and answers of model calls, as data for learning. It stores the call,
// the result of the answer, and the outcomes of the memories in the call. It is off by default, because it stores
// the words of users. Records expire, are bounded per user, and an erasure removes them.
package records

import (
	"bytes"
	"cmp"
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
	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:records:"
	DefaultTimeout = 2 * time.Second
	DefaultKeep    = 30 * 24 * time.Hour
	DefaultCalls   = 1000
)

// Options are the settings of a Store. Zero values have defaults.
type Options struct {
	// Prefix begins the keys in Redis.
	Prefix string
	// Timeout is how long a call waits for Redis.
	Timeout time.Duration
	// Keep is how long a user's records are kept after the last of them.
	Keep time.Duration `env:"KEEP" envDefault:"720h" desc:"how long a user's records are kept after the last record"`
	// Calls is how many records are kept of a user, the newest.
	Calls int64 `envDefault:"1000"`
	// Log receives failures to store records, without their content. nil means no log.
	Log *slog.Logger
	// Meter makes the metric of lost records. nil means no metric.
	Meter metric.Meter
}

// Validate checks the rules that the types do not express.
func (o Options) Validate() error {
	return errors.Join(
		config.Require(o.Keep > 0, "KEEP", o.Keep, "more than zero"),
		config.Require(o.Calls > 0, "CALLS", o.Calls, "more than 0"),
	)
}

// maxWaiting bounds the waiting writes. A record is as long as a prompt.
const maxWaiting = 256

// Store stores records. It is safe for concurrent use, and for several replicas. Run must run at the same time.
type Store struct {
	redisstore.Space
	o            Options
	append, fare *goredis.Script
	waiting      chan write
	lost         metric.Int64Counter
}

// New makes a Store over a Redis, which stays the caller's to close. It does not wait for it. Its error says that a
// metric cannot be made.
func New(redis goredis.UniversalClient, o Options) (*Store, error) {
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	o.Keep, o.Calls = redisstore.Or(o.Keep, DefaultKeep), redisstore.Or(o.Calls, DefaultCalls)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Meter = cmp.Or(o.Meter, telemetry.Discard().Meter.Meter(""))
	lost, err := telemetry.MetricRecordsLost.Counter(o.Meter)
	if err != nil {
		return nil, err
	}
	return &Store{
		Space: redisstore.Space{Redis: redis, Name: "records of models", Prefix: o.Prefix,
			Timeout: redisstore.Or(o.Timeout, DefaultTimeout)},
		o: o, append: goredis.NewScript(appendSource), fare: goredis.NewScript(fareSource),
		waiting: make(chan write, maxWaiting),
		lost:    lost,
	}, nil
}

// Outcome is how a memory that a call touched has fared.
type Outcome struct {
	// Recalled is the number of times that a query showed the memory. Cited is the number of answers that cited it.
	// Reported is the number of citations that the caller reported.
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

var _ redisstore.Erasable = (*Store)(nil)

func (s *Store) key(scope memory.Scope, rest string) string {
	return s.Key(scope.Tenant, hashed(scope.User)+":"+rest)
}

// hashed stands for a text in a key: it is short and holds none of it.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}

// Keep queues a record. It returns at once and never fails a model call. A record that cannot be stored is lost,
// and the loss is logged and counted.
func (s *Store) Keep(ctx context.Context, r llm.Record) {
	s.enqueue(ctx, write{"a call of a model", r.Scope, func(ctx context.Context) error { return s.writeRecord(ctx, r) }})
}

// Fared queues the outcome of a query: the shown memories, and the memories that the answer cited. byCaller means
// that the caller reported it. Each outcome counts once per recall, even if it is reported again within a day.
// Fared returns at once, as Keep does. It stores nothing about users without records.
func (s *Store) Fared(
	ctx context.Context, scope memory.Scope, recallID string, shown, citedIDs []string, byCaller bool,
) {
	at := time.Now()
	fields := make([]any, 0, len(shown)+2*len(citedIDs))
	for _, id := range shown {
		fields = append(fields, id+":"+recalled)
	}
	for _, id := range citedIDs {
		if fields = append(fields, id+":"+cited); byCaller {
			fields = append(fields, id+":"+reported)
		}
	}
	s.enqueue(ctx, write{"how memories fared", scope, func(ctx context.Context) error {
		args := append([]any{at.UnixMilli(), s.o.Keep.Milliseconds(), min(s.o.Keep, onceWithin).Milliseconds(),
			hashed(recallID)}, fields...)
		_, err := s.Eval(ctx, "count how memories fared", s.fare, []string{
			s.key(scope, "erased"), s.key(scope, "calls"), s.key(scope, "outcomes"), s.key(scope, "counted"),
		}, args...)
		return err
	}})
}

// write is a waiting write: its kind, its user and its action.
type write struct {
	what  string
	scope memory.Scope
	run   func(ctx context.Context) error
}

func (s *Store) enqueue(ctx context.Context, w write) {
	select {
	case s.waiting <- w:
	default:
		s.lost.Add(ctx, 1)
	}
}

// Run writes the queue until ctx ends, and then the rest. It returns nil.
func (s *Store) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			s.Flush(context.WithoutCancel(ctx))
			return nil
		case w := <-s.waiting:
			s.write(ctx, w)
		}
	}
}

// Flush writes the queue. If Redis refuses a write, the rest of the queue is lost, so that a service does not wait
// long at its end.
func (s *Store) Flush(ctx context.Context) {
	for failed := false; ; {
		select {
		case w := <-s.waiting:
			if failed {
				s.lost.Add(ctx, 1)
			} else {
				failed = !s.write(ctx, w)
			}
		default:
			return
		}
	}
}

func (s *Store) write(ctx context.Context, w write) (written bool) {
	err := w.run(context.WithoutCancel(ctx)) // a begun write ends, within the timeout
	if err != nil {
		s.lost.Add(ctx, 1)
		s.o.Log.WarnContext(ctx, w.what+" is not recorded", "tenant", w.scope.Tenant, "error", err)
	}
	return err == nil
}

func (s *Store) writeRecord(ctx context.Context, r llm.Record) error {
	system := ""
	if len(r.Messages) > 0 && r.Messages[0].Role == "system" { // is the same in most records
		system, r.Messages = r.Messages[0].Content, slices.Clone(r.Messages)
		r.Messages[0].Content = hashed(system)
	}
	body, err := packed(r)
	if err != nil {
		return err
	}
	_, err = s.Eval(ctx, "keep a record", s.append, []string{
		s.key(r.Scope, "erased"), s.key(r.Scope, "calls"), s.Key(r.Scope.Tenant, "users"), s.Key(r.Scope.Tenant, "systems"),
	}, r.At.UnixMilli(), s.o.Keep.Milliseconds(), s.o.Calls, body, hashed(r.Scope.User), r.Scope.User, hashed(system),
		system)
	return err
}

// Users returns the users of a tenant that there are records of, in order.
func (s *Store) Users(ctx context.Context, tenant string) ([]string, error) {
	var users []string
	err := s.Do(ctx, "list users", func(ctx context.Context) (err error) {
		users, err = s.Redis.HVals(ctx, s.Key(tenant, "users")).Result()
		return err
	})
	slices.Sort(users)
	return users, err
}

// Records returns a user's records, oldest first, and how the memories have fared that they touched, by id.
func (s *Store) Records(ctx context.Context, scope memory.Scope) ([]llm.Record, map[string]Outcome, error) {
	var calls *goredis.StringSliceCmd
	var outcomes, systems *goredis.MapStringStringCmd
	err := s.Pipelined(ctx, "read records", func(ctx context.Context, p goredis.Pipeliner) {
		calls = p.LRange(ctx, s.key(scope, "calls"), 0, -1)
		outcomes = p.HGetAll(ctx, s.key(scope, "outcomes"))
		systems = p.HGetAll(ctx, s.Key(scope.Tenant, "systems"))
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
			return nil, nil, errors.New("a count of outcomes is not a number")
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

// Count implements redisstore.Erasable. It counts all records of a user. It also counts each other key or entry
// that Erase removes. The entry in the list of users may outlive the records.
func (s *Store) Count(ctx context.Context, scope memory.Scope, _ string) (int, error) {
	var calls, others *goredis.IntCmd
	var listed *goredis.BoolCmd
	err := s.Pipelined(ctx, "count", func(ctx context.Context, p goredis.Pipeliner) {
		calls, others = p.LLen(ctx, s.key(scope, "calls")), p.Exists(ctx, s.key(scope, "outcomes"), s.key(scope, "counted"))
		listed = p.HExists(ctx, s.Key(scope.Tenant, "users"), hashed(scope.User))
	})
	n := int(calls.Val() + others.Val())
	if listed.Val() {
		n++
	}
	return n, err
}

// underWay is how long after an erasure a call may end that began before it.
const underWay = time.Hour

// Erase implements redisstore.Erasable. It also removes records stored after the start of the erasure, and records
// of calls in progress.
func (s *Store) Erase(ctx context.Context, scope memory.Scope, _ string) error {
	return s.Pipelined(ctx, "forget records", func(ctx context.Context, p goredis.Pipeliner) {
		p.Set(ctx, s.key(scope, "erased"), time.Now().UnixMilli(), underWay)
		p.Del(ctx, s.key(scope, "calls"), s.key(scope, "outcomes"), s.key(scope, "counted"))
		p.HDel(ctx, s.Key(scope.Tenant, "users"), hashed(scope.User))
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
		return errors.New("it is not a record") // likewise
	}
	return nil
}
