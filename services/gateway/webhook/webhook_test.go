package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/webhook"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/changeevent"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is a program that receives messages, and answers as configured.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	status []int // the last is answered from then on
	got    []received
}

type received struct {
	header http.Header
	body   []byte
}

func receive(t *testing.T, status ...int) *receiver {
	t.Helper()
	r := &receiver{status: status}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, received{req.Header, body})
		answer := r.status[min(len(r.got), len(r.status))-1]
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(answer)
		_, _ = io.WriteString(w, "SECRET of the receiver")
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *receiver) ids() (out []string) {
	for _, g := range r.all() {
		out = append(out, g.header.Get("webhook-id"))
	}
	return out
}

type world struct {
	t     *testing.T
	redis *miniredis.Miniredis
	log   *bytes.Buffer
	*webhook.Webhooks
	kept *webhooks.Store
}

func open(t *testing.T, o webhook.Options) *world {
	t.Helper()
	w := &world{t: t, redis: miniredis.RunT(t), log: &bytes.Buffer{}}
	o.Log = slog.New(slog.NewTextHandler(&locked{w: w.log}, nil))
	w.Webhooks = w.replica(o)
	return w
}

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// replica is another process over the same Redis.
func (w *world) replica(o webhook.Options) *webhook.Webhooks {
	w.t.Helper()
	redis := goredis.NewClient(&goredis.Options{Addr: w.redis.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	w.t.Cleanup(func() { _ = redis.Close() })
	o.Poll = 2 * time.Millisecond
	if o.Backoff == nil {
		o.Backoff = []time.Duration{time.Millisecond, time.Millisecond}
	}
	w.kept = webhooks.New(redis, webhooks.Options{})
	h, err := webhook.New(w.kept, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// run delivers until the test ends.
func (w *world) run(h *webhook.Webhooks) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
}

func by(tenantID string) context.Context {
	scopes := []access.Scope{access.Admin, access.Read}
	return access.NewContext(context.Background(), access.Principal{Tenant: tenant.Tenant{ID: tenantID}, Scopes: scopes})
}

func (w *world) create(tenantID string, e webhook.Endpoint) webhook.Endpoint {
	w.t.Helper()
	made, err := w.Create(by(tenantID), e)
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

func change(t *testing.T, tenantID, user, id string, op memory.OpKind) bus.Message {
	t.Helper()
	c := contract.MemoryChange{
		Envelope:  contract.Envelope{EventID: id, Scope: memory.Scope{Tenant: tenantID, User: user}},
		Operation: op, MemoryID: "m-" + id, Time: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC),
	}
	value, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return bus.Message{Topic: contract.TopicMemoryChanges, Key: c.Key(), Value: value}
}

func (w *world) handle(msgs ...bus.Message) {
	w.t.Helper()
	if err := w.Handle(context.Background(), msgs); err != nil {
		w.t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick, late := time.NewTicker(2*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: it does not come", what)
		}
	}
}

var here = webhook.Options{Private: true} // receivers of tests are on this machine

func TestAChangeIsToldSigned(t *testing.T) {
	w, r := open(t, here), receive(t, 200)
	e := w.create("acme", webhook.Endpoint{Name: "mine", URL: r.URL + "/hook"})
	w.run(w.Webhooks)
	w.handle(change(t, "acme", "ines", "e1", memory.OpAdd))
	// again, and another tenant's
	w.handle(change(t, "acme", "ines", "e1", memory.OpAdd), change(t, "globex", "ines", "e2", memory.OpAdd))
	w.handle(change(t, "acme", "ines", "e3", memory.OpDelete))
	eventually(t, "two deliveries", func() bool { return len(r.all()) >= 2 })
	signer, err := standardwebhooks.NewWebhook(e.Secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range r.all() {
		if err := signer.Verify(got.body, got.header); err != nil {
			t.Error(err)
		}
		var said struct {
			Type      string
			Timestamp time.Time
			Data      struct {
				MemoryID string `json:"memory_id"`
				UserID   string `json:"user_id"`
			}
		}
		if err := json.Unmarshal(got.body, &said); err != nil || said.Data.UserID != "ines" || said.Timestamp.Year() != 2026 {
			t.Errorf("told %s", got.body)
		}
	}
	if ids := r.ids(); !slices.Contains(ids, "e1") || !slices.Contains(ids, "e3") || len(ids) != 2 {
		t.Errorf("told of %v", ids)
	}
}

func TestWhoIsToldOfWhat(t *testing.T) {
	w := open(t, here)
	all, adds, ines, off := receive(t, 200), receive(t, 200), receive(t, 200), receive(t, 200)
	w.create("acme", webhook.Endpoint{URL: all.URL})
	w.create("acme", webhook.Endpoint{URL: adds.URL, Types: []changeevent.Type{changeevent.MemoryAdded}})
	w.create("acme", webhook.Endpoint{URL: ines.URL, User: "ines"})
	no := false
	made := w.create("acme", webhook.Endpoint{URL: off.URL})
	if e, err := w.Update(by("acme"), made.ID, webhook.Change{Active: &no}); err != nil || e.Secret != "" {
		t.Fatal(e, err)
	}
	w.run(w.Webhooks)
	w.handle(change(t, "acme", "ines", "e1", memory.OpAdd), change(t, "acme", "ines", "e2", memory.OpUpdate))
	w.handle(change(t, "acme", "ben", "e3", memory.OpErase))
	eventually(t, "all", func() bool { return len(all.all()) == 3 && len(adds.all()) == 1 && len(ines.all()) == 2 })
	if len(off.all()) > 0 || slices.Contains(ines.ids(), "e3") {
		t.Errorf("the one that is off: %v, that of ines: %v", off.ids(), ines.ids())
	}
}

func TestFailuresAreTriedAgainAndThenDead(t *testing.T) {
	for name, c := range map[string]struct {
		answers  []int
		attempts int
		reason   string
	}{
		"comes back":      {[]int{500, 503, 204}, 3, ""},
		"fails":           {[]int{500}, 3, "it answers 500"},
		"leads elsewhere": {[]int{302}, 3, "it answers 302"},
		"is gone":         {[]int{410}, 1, "it answers 410"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := open(t, here), receive(t, c.answers...)
			e := w.create("acme", webhook.Endpoint{URL: r.URL + "/hook?token=SECRET"})
			w.run(w.Webhooks)
			w.handle(change(t, "acme", "ines", "e1", memory.OpAdd))
			eventually(t, "attempts", func() bool { return len(r.all()) >= c.attempts })
			var dead []webhook.Dead
			eventually(t, "the end", func() bool {
				var err error
				if dead, _, err = w.Dead(by("acme"), e.ID, 10, ""); err != nil {
					t.Fatal(err)
				}
				waiting, err := w.redis.HKeys("mneme:webhook:{acme}:waiting")
				return (err != nil || len(waiting) == 0) && (len(dead) > 0) == (c.reason != "")
			})
			if ids := r.ids(); len(ids) != c.attempts || len(slices.Compact(ids)) != 1 {
				t.Errorf("attempts %v, want %d of one id", ids, c.attempts)
			}
			if len(dead) == 1 && (dead[0].Reason != c.reason || dead[0].Event != "e1" || dead[0].Attempts != c.attempts) {
				t.Errorf("dead: %+v", dead[0])
			}
			if e, err := w.Get(by("acme"), e.ID); err != nil || e.Active == (name == "is gone") {
				t.Errorf("active is %t, %v", e.Active, err)
			}
			if said := w.log.String(); strings.Contains(said, "SECRET") {
				t.Errorf("the log says %s", said)
			}
		})
	}
}

func TestHowAnEndpointAnswersIsShown(t *testing.T) {
	metrics := sdkmetric.NewManualReader()
	w := open(t, webhook.Options{
		Private: true, Backoff: slices.Repeat([]time.Duration{time.Millisecond}, 9),
		Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(metrics)).Meter("test"),
	})
	r := receive(t, 500, 503, 503, 204)
	e := w.create("acme", webhook.Endpoint{URL: r.URL})
	if e.Health != (webhooks.Health{}) {
		t.Errorf("a new one: %+v", e.Health)
	}
	w.handle(change(t, "acme", "ines", "e1", memory.OpAdd), change(t, "acme", "ines", "e1", memory.OpAdd))
	health := func() webhooks.Health {
		all, err := w.List(by("acme"))
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		one, err := w.Get(by("acme"), e.ID)
		if err != nil {
			t.Fatal(err)
		}
		// got after listed
		if all[0].Health.Failures > one.Health.Failures && one.Health.LastSuccess.Equal(all[0].Health.LastSuccess) {
			t.Errorf("listed %+v, got %+v", all[0].Health, one.Health)
		}
		return one.Health
	}
	if got := health(); got.Pending != 1 {
		t.Errorf("it waits: %+v", got)
	}
	w.run(w.Webhooks)
	eventually(t, "it recovers", func() bool { return !health().LastSuccess.IsZero() && health().Pending == 0 })
	if got := health(); got.LastError != "it answers 503" || got.Failures != 0 || !got.FailingSince.IsZero() ||
		got.LastFailure.IsZero() {
		t.Errorf("recovered: %+v", got)
	}
	if log := w.log.String(); strings.Count(log, "has begun to fail") != 1 || strings.Count(log, "has recovered") != 1 {
		t.Errorf("the log says %s", log)
	}
	r.Close() // from now on nothing is there
	w.handle(change(t, "acme", "ines", "e2", memory.OpAdd))
	eventually(t, "it fails", func() bool { return health().Failures == 10 && health().Pending == 0 })
	if got := health(); got.LastError != "it refuses the connection" || got.FailingSince.IsZero() ||
		got.FailingSince.After(got.LastFailure) {
		t.Errorf("failing: %+v", got)
	}
	if log := w.log.String(); strings.Count(log, "has begun to fail") != 2 || !strings.Contains(log, "tenant=acme") {
		t.Errorf("the log says %s", log)
	}
	var hooks []hookOfMem0
	if w.asMem0("GET", "projects/acme/", "", &hooks); hooks[0].Failures != 10 || hooks[0].FailingSince == "" {
		t.Errorf("for mem0: %+v", hooks)
	}
	if err := w.Replay(by("acme"), e.ID, "e2"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it fails again", func() bool { return health().Failures == 20 && health().Pending == 0 })
	var all metricdata.ResourceMetrics
	if err := metrics.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	sum := all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]) //nolint:forcetypeassert // a test
	for _, p := range sum.DataPoints {
		if of, _ := p.Attributes.Value(telemetry.AttrTenant); of.AsString() != "acme" {
			t.Errorf("counted %v", p.Attributes)
		}
	}
	if err := w.Delete(by("acme"), e.ID); err != nil {
		t.Fatal(err)
	}
	if w.redis.Exists("mneme:webhook:{acme}:health:" + e.ID) {
		t.Error("what is known of it is left")
	}
}

func TestADeadLetterIsReplayed(t *testing.T) {
	w, r := open(t, here), receive(t, 500, 500, 500, 200)
	e := w.create("acme", webhook.Endpoint{URL: r.URL})
	w.run(w.Webhooks)
	w.handle(change(t, "acme", "ines", "e1", memory.OpAdd))
	dead := func() []webhook.Dead {
		out, _, err := w.Dead(by("acme"), e.ID, 10, "")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	eventually(t, "a dead letter", func() bool { return len(dead()) == 1 })
	for what, err := range map[string]error{
		"another event":   w.Replay(by("acme"), e.ID, "e2"),
		"another webhook": w.Replay(by("acme"), "nobody", "e1"),
		"another tenant":  w.Replay(by("globex"), e.ID, "e1"),
	} {
		if p := problem.From(err); p.Status != http.StatusNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := w.Replay(by("acme"), e.ID, "e1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is delivered", func() bool { return len(r.all()) == 4 && len(dead()) == 0 })
}

func TestDeadLettersArePaged(t *testing.T) {
	w, r := open(t, webhook.Options{Private: true, Backoff: []time.Duration{}}), receive(t, 500)
	e := w.create("acme", webhook.Endpoint{URL: r.URL})
	w.run(w.Webhooks)
	w.handle(change(t, "acme", "i", "e1", memory.OpAdd), change(t, "acme", "i", "e2", memory.OpAdd),
		change(t, "acme", "i", "e3", memory.OpAdd))
	seen := map[string]bool{}
	eventually(t, "all pages", func() bool {
		clear(seen)
		for cursor := ""; ; {
			page, next, err := w.Dead(by("acme"), e.ID, 2, cursor)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range page {
				seen[d.Event] = true
			}
			if cursor = next; next == "" {
				return len(seen) == 3
			}
		}
	})
	if _, _, err := w.Dead(by("acme"), e.ID, 2, "x"); problem.From(err).Field != "cursor" {
		t.Errorf("got %v", err)
	}
}

func TestARotatedSecretIsGoodForADay(t *testing.T) {
	w, r := open(t, here), receive(t, 200)
	before := w.create("acme", webhook.Endpoint{URL: r.URL})
	after, err := w.Rotate(by("acme"), before.ID)
	if err != nil || after.Secret == before.Secret || after.Secret == "" || after.Previous != "" {
		t.Fatal(after, err)
	}
	w.run(w.Webhooks)
	w.handle(change(t, "acme", "ines", "e1", memory.OpAdd))
	eventually(t, "it is delivered", func() bool { return len(r.all()) == 1 })
	for _, secret := range []string{before.Secret, after.Secret} {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := signer.Verify(r.all()[0].body, r.all()[0].header); err != nil {
			t.Error(err)
		}
	}
}

func TestAddressesThatAreNotPublicAreRefused(t *testing.T) {
	w := open(t, webhook.Options{Backoff: []time.Duration{}})
	r := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it is asked") }))
	defer r.Close()
	var all []webhook.Endpoint
	private := w.replica(webhook.Options{Private: true}) // as w was when they were made
	for _, address := range []string{r.URL, strings.Replace(r.URL, "127.0.0.1", "localhost", 1),
		"https://[::ffff:127.0.0.1]:1/", "https://169.254.169.254/"} {
		e, err := private.Create(by("acme"), webhook.Endpoint{URL: address})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	w.run(w.Webhooks)
	w.handle(change(t, "acme", "ines", "e1", memory.OpAdd))
	for _, e := range all {
		eventually(t, e.URL, func() bool {
			dead, _, err := w.Dead(by("acme"), e.ID, 1, "")
			return err == nil && len(dead) == 1 && dead[0].Reason == "the address is not public"
		})
	}
}

func TestWhatIsNoEndpoint(t *testing.T) {
	w := open(t, webhook.Options{})
	for address, field := range map[string]string{
		"": "url", "x": "url", "http://example.com": "url", "https://user:pw@example.com": "url", "ftp://example.com": "url",
		"https://": "url",
		"https://example.com/" + strings.Repeat("x", 2<<10): "url", "https://example.com/#part": "url",
		"https://example.com/#": "url",
		"https://example.com:0": "url", "https://example.com:65536": "url", "https://example.com:": "url",
		"https://localhost/": "url", "https://LOCALHOST.:443": "url", "https://of.localhost": "url",
		"https://127.0.0.1":    "url",
		"https://10.0.0.1:443": "url", "https://169.254.169.254": "url", "https://[::1]": "url",
		"https://[::ffff:10.0.0.1]": "url",
		"https://[fe80::1%25eth0]":  "url", "https://127.1": "url", "https://0x7f000001": "url", "https://2130706433": "url",
	} {
		_, err := w.Create(by("acme"), webhook.Endpoint{URL: address})
		if problem.From(err).Status != 400 || problem.From(err).Field != field {
			t.Errorf("%.40q: %v", address, err)
		}
	}
	if _, err := w.Create(by("acme"), webhook.Endpoint{URL: "https://example.com",
		Types: []changeevent.Type{"x"}}); problem.From(err).Field != "event_types" {
		t.Errorf("a type: %v", err)
	}
	if _, err := w.Create(by("acme"), webhook.Endpoint{URL: "https://example.com",
		User: "ines\u200b"}); problem.From(err).Field != "user_id" {
		t.Errorf("a user with a hidden character: %v", err)
	}
	for range webhooks.MaxEndpoints {
		w.create("acme", webhook.Endpoint{URL: "https://example.com"})
	}
	_, err := w.Create(by("acme"), webhook.Endpoint{URL: "https://example.com"})
	if problem.From(err).Status != http.StatusConflict {
		t.Errorf("one too many: %v", err)
	}
	ines := access.Principal{Tenant: tenant.Tenant{ID: "acme"}, User: "ines", Scopes: []access.Scope{access.Admin}}
	bound := access.NewContext(t.Context(), ines)
	if _, err := w.List(bound); problem.From(err).Status != http.StatusForbidden {
		t.Errorf("a key of one user: %v", err)
	}
	if all, err := w.List(by("globex")); err != nil || len(all) != 0 {
		t.Errorf("another tenant has %v, %v", all, err)
	}
}
