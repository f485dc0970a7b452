package mem0_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/mem0"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/webhook"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/idempotency"
	"github.com/mneme-memory/mneme/shared/store/mem0state"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "a secret of services"

// start is when tests begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// keys are the API keys of the tests: for a whole tenant, for another tenant, for one user, and with few scopes.
type keys struct{}

func (keys) Authenticate(_ context.Context, key string) (access.Principal, error) {
	p := access.Principal{Tenant: tenant.Tenant{ID: "acme"}, KeyID: key, Scopes: access.Scopes()}
	switch key {
	case "ALL":
	case "BETA":
		p.Tenant.ID = "beta"
	case "BEN":
		p.User = "ben"
	case "READ":
		p.Scopes = []access.Scope{access.Read}
	case "INGEST":
		p.Scopes = []access.Scope{access.Ingest}
	default:
		return p, tenant.ErrUnknownKey
	}
	return p, nil
}

// hooks are webhooks in memory.
type hooks struct {
	all []webhook.Endpoint
}

func (h *hooks) List(context.Context) ([]webhook.Endpoint, error) { return h.all, nil }

func (h *hooks) Create(_ context.Context, w webhook.Endpoint) (webhook.Endpoint, error) {
	w.ID, w.Active, w.CreatedAt, w.UpdatedAt = "hook 1", true, start, start
	h.all = append(h.all, w)
	return w, nil
}

func (h *hooks) Update(_ context.Context, id string, c webhook.Change) (webhook.Endpoint, error) {
	for i, known := range h.all {
		if known.ID == id {
			if c.Name != nil {
				h.all[i].Name = *c.Name
			}
			return h.all[i], nil
		}
	}
	return webhook.Endpoint{}, problem.Problem{Status: http.StatusNotFound, Code: problem.CodeNotFound,
		Detail: "there is no such webhook"}
}

func (h *hooks) Delete(_ context.Context, id string) error {
	for i, known := range h.all {
		if known.ID == id {
			h.all = append(h.all[:i], h.all[i+1:]...)
			return nil
		}
	}
	return problem.Problem{Status: http.StatusNotFound, Code: problem.CodeNotFound, Detail: "there is no such webhook"}
}

// lines collects a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// gateway is the API with all that stands before and behind it.
type gateway struct {
	*mneme
	t      *testing.T
	url    string
	client *http.Client
	redis  *miniredis.Miniredis
	store  goredis.UniversalClient
	state  *mem0state.Store
	ingest *ingest.Ingester
	log    *lines
	hooks  *hooks
	clock  *clock
}

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// open starts everything.
func open(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{t: t, client: &http.Client{Transport: &http.Transport{}}, redis: miniredis.RunT(t), log: &lines{},
		hooks: &hooks{}}
	g.clock = &clock{now: start}
	g.redis.SetTime(start)
	g.mneme = newMneme(g.clock.Now)
	inner := httptest.NewServer(g.handler())
	g.store = goredis.NewClient(&goredis.Options{Addr: g.redis.Addr(), MaxRetries: -1})
	log := slog.New(slog.NewTextHandler(g.log, nil))
	g.ingest = &ingest.Ingester{Out: g.mneme, Now: g.clock.Now}
	g.state = mem0state.New(g.store, mem0state.Options{})
	api := mem0.New(mem0.Parts{
		Services: backend.New(g.client, inner.URL, inner.URL, secret).Noting(idempotency.New(g.store, idempotency.Options{})),
		Ingest:   g.ingest, State: g.state, Webhooks: g.hooks, Now: g.clock.Now, Log: log,
	})
	g.url = g.serve(api, log)
	t.Cleanup(func() {
		g.client.CloseIdleConnections()
		inner.Close()
		if err := g.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// serve puts an API behind a guard, as it is mounted.
func (g *gateway) serve(api http.Handler, log *slog.Logger) string {
	guard := &guard.Guard{Auth: keys{}, Log: log}
	mux := http.NewServeMux()
	for _, prefix := range mem0.Prefixes() {
		mux.Handle(prefix, guard.Wrap(mem0.WriteProblem, api))
	}
	outer := httptest.NewServer(mux)
	g.t.Cleanup(outer.Close)
	return outer.URL
}

type object = map[string]any

// answer is the answer of the gateway.
type answer struct {
	t      *testing.T
	call   string
	status int
	header http.Header
	body   string
}

// call makes a request with a key; a body that is text is sent as it is.
func (g *gateway) call(key, method, path string, body any) answer {
	g.t.Helper()
	var sent io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		sent = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			g.t.Fatal(err)
		}
		sent = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.url+path, sent)
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Token "+key)
	res, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return answer{g.t, method + " " + path, res.StatusCode, res.Header, string(got)}
}

// do is call with the key for the whole tenant. The call must succeed.
func (g *gateway) do(method, path string, body any) answer {
	g.t.Helper()
	a := g.call("ALL", method, path, body)
	if a.status/100 != 2 {
		g.t.Fatalf("%s: %d %s", a.call, a.status, a.body)
	}
	if kind := a.header.Get("Content-Type"); kind != "application/json" {
		g.t.Fatalf("%s: content type %q", a.call, kind)
	}
	return a
}

// object is the answer as an object.
func (a answer) object() object {
	a.t.Helper()
	out := object{}
	if err := json.Unmarshal([]byte(a.body), &out); err != nil {
		a.t.Fatalf("%s: %v in %s", a.call, err, a.body)
	}
	return out
}

// results returns the results of an answer.
func (a answer) results() []object {
	a.t.Helper()
	list, ok := a.object()["results"].([]any)
	if !ok {
		a.t.Fatalf("%s: no results in %s", a.call, a.body)
	}
	out := make([]object, len(list))
	for i, one := range list {
		out[i], _ = one.(object)
	}
	return out
}

// said are the texts of the results.
func (a answer) said() string {
	a.t.Helper()
	var out []string
	for _, r := range a.results() {
		text, _ := r["memory"].(string)
		out = append(out, text)
	}
	return strings.Join(out, " | ")
}

// refused checks that an answer is an error with this status, and that its detail contains this text.
func (a answer) refused(status int, detail string) {
	a.t.Helper()
	if got, _ := a.object()["detail"].(string); a.status != status || !strings.Contains(got, detail) {
		a.t.Errorf("%s: %d %s, want %d with %q", a.call, a.status, a.body, status, detail)
	}
	if kind := a.header.Get("Content-Type"); kind != "application/json" {
		a.t.Errorf("%s: content type %q", a.call, kind)
	}
}

// says returns user messages with these texts.
func says(texts ...string) []object {
	out := make([]object, len(texts))
	for i, text := range texts {
		out[i] = object{"role": "user", "content": text}
	}
	return out
}

// add adds messages and returns the event.
func (g *gateway) add(body object) string {
	g.t.Helper()
	id, _ := g.do(http.MethodPost, "/v3/memories/add/", body).object()["event_id"].(string)
	if id == "" {
		g.t.Fatal("no event")
	}
	return id
}

// remember adds user messages and has memories formed from them. It returns the memory id of the first text.
func (g *gateway) remember(user string, texts ...string) string {
	g.t.Helper()
	id := g.add(object{"messages": says(texts...), "user_id": user})
	g.formAll()
	results := g.do(http.MethodGet, "/v1/event/"+id+"/", nil).results()
	if len(results) == 0 {
		g.t.Fatal("no memory is formed")
	}
	out, _ := results[0]["id"].(string)
	return out
}

// formAll forms memories of all that waits, as the ends of sessions do, the oldest session first.
func (g *gateway) formAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for s, b := range g.banks {
		began := func(session string) time.Time { return b.turns[b.waiting[session][0]].GetTime().AsTime() }
		sessions := slices.SortedFunc(maps.Keys(b.waiting), func(a, b string) int {
			return cmp.Or(began(a).Compare(began(b)), cmp.Compare(a, b))
		})
		for _, session := range sessions {
			g.form(s, session)
		}
	}
}

// last is the last request of a kind that came to the services behind the gateway.
func last[T proto.Message](g *gateway) T {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := len(g.asked) - 1; i >= 0; i-- {
		if msg, ok := g.asked[i].(T); ok {
			return msg
		}
	}
	var none T
	g.t.Fatalf("no %T was asked", none)
	return none
}

// turnsOf are the turns that were put in for a user and wait to be formed.
func (g *gateway) turnsOf(user string) []memory.Turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []memory.Turn
	b := g.bank(memory.Scope{Tenant: "acme", User: user})
	for _, e := range g.events {
		if e.Turn != nil && e.Scope.User == user && slices.Contains(b.waiting[e.SessionID], e.Turn.ID) {
			out = append(out, *e.Turn)
		}
	}
	return out
}
