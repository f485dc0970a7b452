package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/deadletters"
	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/idempotency"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/keys"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/rest"
	"github.com/mneme-memory/mneme/services/gateway/webhook"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	directory "github.com/mneme-memory/mneme/shared/store/directory/inmem"
	accepted "github.com/mneme-memory/mneme/shared/store/idempotency"
	"github.com/mneme-memory/mneme/shared/store/items"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const (
	self   = "/v1/tenants/self"
	ines   = self + "/users/ines"
	secret = "a secret of services"
)

// callers returns the principals of the keys.
func callers() map[string]access.Principal {
	acme := tenant.Tenant{ID: "acme"}
	return map[string]access.Principal{
		"ALL":  {Tenant: acme, KeyID: "all", Scopes: access.Scopes()},
		"BETA": {Tenant: tenant.Tenant{ID: "beta"}, KeyID: "beta", Scopes: access.Scopes()},
		"BEN": {Tenant: acme, KeyID: "ben", User: "ben",
			Scopes: []access.Scope{access.Ingest, access.Recall, access.Read, access.Erase}},
		"INGEST": {Tenant: acme, KeyID: "ingest", Scopes: []access.Scope{access.Ingest}},
		"ADMIN":  {Tenant: acme, KeyID: "admin", Scopes: []access.Scope{access.Admin}},
		"READ":   {Tenant: acme, KeyID: "read", Scopes: []access.Scope{access.Read}},
	}
}

// authenticator knows them by their keys.
type authenticator struct{}

func (authenticator) Authenticate(_ context.Context, key string) (access.Principal, error) {
	if p, ok := callers()[key]; ok {
		return p, nil
	}
	return access.Principal{}, tenant.ErrUnknownKey
}

// published stores the published messages. The Kafka test of turns has a real broker.
type published struct {
	mu   sync.Mutex
	msgs []bus.Message
	err  error
}

func (p *published) Publish(_ context.Context, msgs ...bus.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.msgs = append(p.msgs, msgs...)
	}
	return p.err
}

func (*published) Close() error { return nil }

// letters are dead letters by id.
type letters struct {
	all      []deadletters.Letter
	ofTurns  map[string]deadletters.Letter
	replayed []string
}

func (l *letters) List(ctx context.Context, limit int, cursor string) ([]deadletters.Letter, string, error) {
	if err := backend.Check(ctx, access.Admin, ""); err != nil {
		return nil, "", err
	}
	from := 0
	for cursor != "" && from < len(l.all) && l.all[from].ID != cursor {
		from++
	}
	if from == len(l.all) && cursor != "" {
		return nil, "", problem.Invalid("cursor", "is not one of ours")
	}
	page, next := l.all[from:], ""
	if len(page) > limit {
		page, next = page[:limit], page[limit].ID
	}
	return page, next, nil
}

func (l *letters) Replay(ctx context.Context, id string) error {
	for _, k := range l.all {
		if k.ID == id {
			l.replayed = append(l.replayed, id)
			return backend.Check(ctx, access.Admin, "")
		}
	}
	return connect.NewError(connect.CodeNotFound, errors.New("there is no such dead letter"))
}

func (l *letters) Find(ctx context.Context, user, turnID string) (deadletters.Letter, bool, error) {
	found, ok := l.ofTurns[user+" "+turnID]
	return found, ok, backend.Check(ctx, access.Read, user)
}

type usage struct{}

func (usage) Usage(_ context.Context, day string) (map[string]int64, error) {
	return map[string]int64{"requests": int64(len(day)), "turns": 3}, nil
}

func (usage) OverItems(context.Context) error {
	return problem.Problem{Status: http.StatusTooManyRequests, Code: problem.CodeOverQuota, Detail: "over the quota"}
}

// gateway is the API with fakes behind it.
type gateway struct {
	repeatable *idempotency.Requests
	t          testing.TB
	url        string
	client     *http.Client
	api        *rest.API
	behind     *behind
	out        *published
	letters    *letters
	redis      *miniredis.Miniredis
	log        *bytes.Buffer
}

// open serves the API behind a guard. With a publisher, turns go there.
func open(t testing.TB, publishers ...bus.Publisher) *gateway {
	t.Helper()
	g := &gateway{
		t: t, behind: newBehind(), out: &published{}, letters: &letters{},
		client: &http.Client{Transport: &http.Transport{}}, log: &bytes.Buffer{},
	}
	inner := httptest.NewServer(g.behind.handler())
	g.redis = miniredis.RunT(t)
	redis := goredis.NewClient(&goredis.Options{Addr: g.redis.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	log := slog.New(slog.NewTextHandler(&lockedWriter{w: g.log}, nil))
	clock := func() time.Time { return now }
	var out bus.Publisher = g.out
	for _, p := range publishers {
		out = p
	}
	repeatable := &idempotency.Requests{Store: accepted.New(redis, accepted.Options{Timeout: time.Second, Now: clock}),
		Log: log}
	kept := items.New(redis, items.Options{Timeout: time.Second, Log: log})
	hooks, err := webhook.New(webhooks.New(redis, webhooks.Options{Timeout: time.Second}), webhook.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	api, err := rest.New(rest.Parts{
		Services:    backend.New(g.client, inner.URL, inner.URL, secret).Noting(repeatable),
		Ingest:      &ingest.Ingester{Out: out, Now: clock, Accepted: repeatable, Log: log},
		Idempotency: repeatable, Verbatim: kept, Webhooks: hooks,
		Keys: &keys.Manager{Directory: directory.New(), Now: clock}, DeadLetters: g.letters, Usage: usage{}, Now: clock,
		Log:     log,
		Streams: http.NotFoundHandler(),
	})
	if err != nil {
		t.Fatal(err)
	}
	g.api, g.repeatable = api, repeatable
	mux := http.NewServeMux()
	guard := &guard.Guard{Auth: authenticator{}, Log: log}
	handler := guard.Wrap(rest.WriteProblem, api.Handler())
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, rest.Prefix) {
			handler.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	mux.Handle("/", api.Public())
	g.url = outer.URL
	t.Cleanup(func() { outer.Close(); g.client.CloseIdleConnections(); inner.Close(); _ = redis.Close() })
	return g
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// answer is an answer of the API.
type answer struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

// field is a field of the body by its path ("errors.0.field").
func (a answer) field(path string) any {
	var at any = a.body
	for name := range strings.SplitSeq(path, ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[name]
		case []any:
			i := int(name[0] - '0')
			if i >= len(v) {
				return nil
			}
			at = v[i]
		}
	}
	return at
}

// call makes a request; headers are "name: value". A key of all scopes is sent unless there is one.
func (g *gateway) call(method, path, body string, headers ...string) answer {
	g.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(g.t.Context(), method, g.url+path, reader)
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer ALL")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return g.do(r)
}

func (g *gateway) do(r *http.Request) answer {
	g.t.Helper()
	res, err := g.client.Do(r)
	if err != nil {
		g.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	out := answer{status: res.StatusCode, header: res.Header, text: string(text)}
	if r.Method != http.MethodHead && strings.Contains(res.Header.Get("Content-Type"), "json") &&
		!strings.Contains(res.Header.Get("Content-Type"), "ndjson") {
		if err := json.Unmarshal(text, &out.body); err != nil {
			g.t.Fatalf("%s %s: %v in %s", r.Method, r.URL, err, text)
		}
	}
	return out
}

// expect fails the test unless the answer has the status, and fields by their path as they print.
func (a answer) expect(t *testing.T, status int, fields map[string]any) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.text)
	}
	for path, want := range fields {
		got, _ := json.Marshal(a.field(path))
		wanted, _ := json.Marshal(want)
		if string(got) != string(wanted) {
			t.Errorf("%s is %s, want %s: %s", path, got, wanted, a.text)
		}
	}
	if status >= 400 && (a.header.Get("Content-Type") != "application/problem+json" ||
		a.field("status") != float64(status) ||
		a.field("title") != http.StatusText(status) || a.field("code") == "" || a.field("type") != "about:blank") {
		t.Errorf("no problem: %q %s", a.header.Get("Content-Type"), a.text)
	}
	if a.header.Get(guard.RequestIDHeader) == "" {
		t.Error("no request id")
	}
}

func (b *behind) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(b))
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(b))
	mux.Handle(mnemev1connect.NewUserDataServiceHandler(b))
	mux.Handle(mnemev1connect.NewDiagnosisServiceHandler(b))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.note(r)
		mux.ServeHTTP(w, r)
	})
}

func letterList(n int) (out []deadletters.Letter) {
	for i := range n {
		out = append(out, deadletters.Letter{
			ID: "letter/" + string(rune('a'+i)), Reason: "text: is empty", Field: "turn.text", Handler: "filter",
			Topic: "mneme.session-events",
			User:  "ines", Time: now, TurnID: "t1",
		})
	}
	return out
}
