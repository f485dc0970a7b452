package records_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/store/records"
	"github.com/mneme-memory/mneme/test/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ines = memory.Scope{Tenant: "acme", User: "ines"}

// newStore returns a store with a separate Redis.
func newStore(t *testing.T, o records.Options) (*records.Store, *miniredis.Miniredis) {
	t.Helper()
	server := miniredis.RunT(t)
	return open(t, server.Addr(), o), server
}

func open(t *testing.T, addr string, o records.Options) *records.Store {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() { _ = client.Close() })
	s, err := records.New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// read writes the queue, and returns a user's records. They must be readable.
func read(t *testing.T, s *records.Store, scope memory.Scope) ([]model.Record, map[string]records.Outcome) {
	t.Helper()
	s.Flush(t.Context())
	out, fared, err := s.Records(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	return out, fared
}

func TestCallsAreKeptWithWhatBecameOfThem(t *testing.T) { kept(t, miniredis.RunT(t).Addr()) }

func TestOnEveryRedis(t *testing.T) { redistest.Each(t, kept) }

func kept(t *testing.T, addr string) {
	s := open(t, addr, records.Options{})
	server := llmtest.New(t)
	client, err := model.NewClient(server.Config(), model.Deps{Record: s.Keep})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	former, err := salimory.NewLLM(client, llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	b := formationtest.Bundle([]string{"Ana moved to Braga."}, formationtest.Stored("m-1", "Ana lives in Porto."))
	b.Session.Scope = ines
	update := formationtest.Object{
		"candidate": "c1", "relation": "refines", "op": "UPDATE", "targets": []string{"m1"}, "content": "Ana lives in Braga.",
	}
	server.Script(model.RoleManager, llmtest.Text("no JSON"),
		formationtest.Answer(t, formationtest.Object{"operations": []formationtest.Object{update}}))
	verdict, err := former.Decide(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	fresh := verdict.Operations[0].New.ID
	s.Fared(t.Context(), ines, "recall-1", []string{fresh, "m-1"}, nil, false)
	s.Fared(t.Context(), ines, "recall-1", []string{fresh, "m-1"}, []string{fresh}, false)
	for range 2 { // the caller reports the same recall twice
		s.Fared(t.Context(), ines, "recall-1", []string{fresh, "m-1"}, []string{fresh}, true)
	}
	s.Fared(t.Context(), ines, "recall-2", []string{fresh}, nil, false)

	kept, fared := read(t, s, ines)
	if len(kept) != 1 {
		t.Fatalf("%d records, want 1", len(kept))
	}
	r := kept[0]
	if r.Role != model.RoleManager || r.Strategy != "salimory" || !strings.HasPrefix(r.Prompt, "salimory-manager.v") ||
		r.Model != "scripted" || r.Valid != model.ValidRepaired || len(r.Faults) != 1 || r.Scope != ines ||
		r.InputTokens == 0 ||
		r.Milliseconds <= 0 {
		t.Errorf("record %+v", r)
	}
	var roles []string
	for _, m := range r.Messages {
		roles = append(roles, m.Role)
	}
	if want := []string{"system", "user", "assistant", "user", "assistant"}; !slices.Equal(roles, want) {
		t.Fatalf("messages of %q, want %q", roles, want)
	}
	if !strings.Contains(r.Messages[0].Content, "memory bank") ||
		!strings.Contains(r.Messages[1].Content, "Ana moved to Braga.") ||
		r.Messages[2].Content != "no JSON" {
		t.Errorf("messages %+v", r.Messages)
	}
	if len(r.Operations) != 1 || !slices.Equal(r.Memories, []string{"m-1", fresh}) ||
		!slices.Equal(r.Closed, []string{"m-1"}) {
		t.Errorf("touched %+v", r.Touch)
	}
	want := map[string]records.Outcome{
		"m-1": {Recalled: 1, Superseded: true}, fresh: {Recalled: 2, Cited: 1, Reported: 1},
	}
	if !reflect.DeepEqual(fared, want) {
		t.Errorf("fared %+v, want %+v", fared, want)
	}
	if err := s.Erase(t.Context(), ines, ""); err != nil {
		t.Fatal(err)
	}
	if kept, fared := read(t, s, ines); len(kept)+len(fared) != 0 {
		t.Errorf("after an erasure %d records, %v", len(kept), fared)
	}
}

func TestACallThatFailsIsKeptAsSuch(t *testing.T) {
	s, _ := newStore(t, records.Options{})
	server := llmtest.New(t)
	server.Always(llmtest.Text("never JSON"))
	client, err := model.NewClient(server.Config(), model.Deps{Record: s.Keep})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	f, err := llm.NewFilter(client, llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	turns := formationtest.Session("I live in Porto").Turns
	if _, err := f.Filter(t.Context(), ines, turns, nil); err == nil {
		t.Fatal("no error")
	}
	server.Always(llmtest.Truncated())
	if _, err := f.Filter(t.Context(), ines, turns, nil); err == nil {
		t.Fatal("no error")
	}
	kept, _ := read(t, s, ines)
	if len(kept) != 2 || kept[0].Valid != model.Invalid || kept[0].Error != "malformed" || len(kept[0].Faults) != 2 ||
		kept[1].Error != "truncated" || len(kept[1].Messages) != 2 {
		t.Errorf("records %+v", kept)
	}
}

func TestRecordsAreBoundedAgeAndAreErased(t *testing.T) {
	s, server := newStore(t, records.Options{Calls: 3, Keep: time.Hour})
	began := time.Now().Add(-time.Minute)
	keep := func(user string, n int, at time.Time) {
		for range n {
			s.Keep(t.Context(), model.Record{Scope: memory.Scope{Tenant: "acme", User: user}, At: at, Role: model.RoleFilter,
				Messages: []model.Message{{Role: "system", Content: "rules"}, {Role: "user", Content: "secret"}}})
		}
	}
	keep("ines", 5, began)
	keep("otto", 1, began)
	s.Fared(t.Context(), ines, "recall-0", []string{"m-1"}, nil, false)
	if kept, _ := read(t, s, ines); len(kept) != 3 || kept[0].Messages[0].Content != "rules" {
		t.Errorf("%d records of three that may be: %+v", len(kept), kept)
	}
	for _, key := range server.Keys() {
		if strings.Contains(key, "ines") {
			t.Errorf("the key %s names a user", key)
		}
	}
	if err := s.Erase(t.Context(), ines, ""); err != nil {
		t.Fatal(err)
	}
	keep("ines", 1, began) // a call that began before the erasure
	s.Fared(t.Context(), ines, "recall-1", []string{"m-1"}, nil, false)
	kept, fared := read(t, s, ines)
	users, err := s.Users(t.Context(), "acme")
	if err != nil || len(kept)+len(fared) != 0 || !slices.Equal(users, []string{"otto"}) {
		t.Errorf("after the erasure: %d records, %v, users %q, %v", len(kept), fared, users, err)
	}
	keep("ines", 1, time.Now().Add(time.Second))
	s.Flush(t.Context())
	if n, err := s.Count(t.Context(), ines, ""); err != nil || n != 2 {
		t.Errorf("after the erasure %d objects, %v, want 2: a record of what is new and the entry of the user", n, err)
	}
	server.FastForward(2 * time.Hour)
	if left := server.Keys(); len(left) != 0 {
		t.Errorf("left for ever: %q", left)
	}
}

// Each key that an erasure removes counts, also where the others have expired.
func TestEverythingThatAnErasureRemovesCounts(t *testing.T) {
	s, server := newStore(t, records.Options{})
	count := func(of memory.Scope, want int, when string) {
		t.Helper()
		if n, err := s.Count(t.Context(), of, "x1"); err != nil || n != want {
			t.Errorf("%s: %d objects of %s, %v, want %d", when, n, of.User, err, want)
		}
	}
	began := time.Now()
	otto := memory.Scope{Tenant: "acme", User: "otto"}
	for _, of := range []memory.Scope{ines, otto} {
		s.Keep(t.Context(), model.Record{Scope: of, At: began, Role: model.RoleFilter})
	}
	s.Fared(t.Context(), ines, "recall-1", []string{"m-1", "m-2"}, nil, false)
	s.Flush(t.Context())
	count(ines, 4, "a record, its outcomes, the recalls that they count, and the entry of the user")
	for _, kind := range []string{"calls", "outcomes", "counted"} {
		for _, key := range server.Keys() {
			if strings.HasSuffix(key, ":"+kind) {
				server.Del(key)
			}
		}
		count(ines, map[string]int{"calls": 3, "outcomes": 2, "counted": 1}[kind], "without "+kind)
	}
	if err := s.Erase(t.Context(), ines, "x1"); err != nil {
		t.Fatal(err)
	}
	count(ines, 0, "after the erasure")
	count(otto, 1, "after the erasure of another user")
}

func TestARedisThatIsAwayFailsNoCall(t *testing.T) {
	s, server := newStore(t, records.Options{Timeout: time.Second})
	server.Close()
	s.Keep(t.Context(), model.Record{Scope: ines, At: time.Now()})
	s.Fared(t.Context(), ines, "recall-1", []string{"m-1"}, nil, false)
	s.Flush(t.Context())
	if _, err := s.Count(t.Context(), ines, ""); err == nil {
		t.Error("no error of a count")
	}
	if _, err := s.Users(context.Background(), "acme"); err == nil {
		t.Error("no error of a read")
	}
	if _, _, err := s.Records(t.Context(), ines); err == nil {
		t.Error("no error of a read")
	}
}

// An erasure that comes between two commands of a write finds none of it afterwards.
func TestAnErasureComesBeforeOrAfterAWrite(t *testing.T) {
	s, server := newStore(t, records.Options{})
	eraser := open(t, server.Addr(), records.Options{})
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	client.AddHook(afterEach(func() {
		if err := eraser.Erase(t.Context(), ines, ""); err != nil {
			t.Error(err)
		}
	}))
	interrupted, err := records.New(client, records.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first of them also loads the scripts
		began := time.Now()
		interrupted.Keep(t.Context(), model.Record{Scope: ines, At: began, Role: model.RoleFilter})
		interrupted.Fared(t.Context(), ines, "recall-1", []string{"m-1"}, nil, false)
		interrupted.Flush(t.Context())
		if kept, fared := read(t, s, ines); len(kept)+len(fared) != 0 {
			t.Fatalf("%d records, %v, want none: an erasure came after the first command of each", len(kept), fared)
		}
	}
}

// afterEach is called after every command but before its caller goes on.
type afterEach func()

func (afterEach) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (a afterEach) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		defer a()
		return next(ctx, cmd)
	}
}

func (a afterEach) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// No caller waits for a Redis that does not answer. Records beyond the queue are dropped and counted. The rest is
// written at the end.
func TestWhatIsKeptWaitsForNobody(t *testing.T) {
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	s, _ := newStore(t, records.Options{Meter: provider.Meter("test")})
	const told, room = 300, 256
	for range told {
		s.Keep(t.Context(), model.Record{Scope: ines, At: time.Now(), Role: model.RoleFilter})
	}
	if n, err := s.Count(t.Context(), ines, ""); err != nil || n != 0 {
		t.Errorf("%d records written in line, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if kept, _ := read(t, s, ines); len(kept) != room {
		t.Errorf("%d records after the end, want %d", len(kept), room)
	}
	var found metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &found); err != nil {
		t.Fatal(err)
	}
	if lost := found.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints[0].Value; lost != told-room {
		t.Errorf("%d are counted as lost, want %d", lost, told-room)
	}
}
