package stream_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/rest"
	"github.com/mneme-memory/mneme/services/gateway/stream"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keys knows three keys of acme, until they are revoked.
type keys struct{ revoked atomic.Bool }

func (k *keys) Authenticate(_ context.Context, key string) (access.Principal, error) {
	p := access.Principal{Tenant: tenant.Tenant{ID: "acme"}, KeyID: key, Scopes: []access.Scope{access.Read}}
	switch {
	case k.revoked.Load():
		return access.Principal{}, tenant.ErrUnknownKey
	case key == "ALL":
		return p, nil
	case key == "INES":
		p.User = "ines"
		return p, nil
	case key == "INGEST":
		p.Scopes = []access.Scope{access.Ingest}
		return p, nil
	}
	return access.Principal{}, tenant.ErrUnknownKey
}

// unlimited lets any number of streams be open, and counts them.
type unlimited struct{ atomic.Int32 }

func (u *unlimited) Acquire(context.Context, access.Principal) (func(), error) {
	u.Add(1)
	return func() { u.Add(-1) }, nil
}

// system serves streams of a broker's changes.
type system struct {
	t        *testing.T
	url      string
	out      bus.Publisher
	changes  bus.Log
	open     unlimited
	keys     *keys
	stopping chan struct{}
}

// open starts a server. The options change its parts.
func open(t *testing.T, options ...func(*stream.Parts)) *system {
	t.Helper()
	return openOn(t, bustest.StartBroker(t, 4, contract.TopicMemoryChanges), options...)
}

// openOn starts a server, as one of several replicas may be.
func openOn(t *testing.T, broker *bustest.Broker, options ...func(*stream.Parts)) *system {
	t.Helper()
	s := &system{
		t: t, out: broker.Publisher(), changes: broker.Log(contract.TopicMemoryChanges), keys: &keys{},
		stopping: make(chan struct{}),
	}
	parts := stream.Parts{
		Changes: s.changes, Auth: s.keys, Streams: &s.open, Secret: "a secret of replicas", Write: rest.WriteProblem,
		Stopping: s.stopping,
		Check:    20 * time.Millisecond, Heartbeat: 50 * time.Millisecond,
	}
	for _, o := range options {
		o(&parts)
	}
	server, err := stream.New(parts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	outer := httptest.NewServer((&guard.Guard{Auth: s.keys}).Wrap(rest.WriteProblem, server))
	s.url = outer.URL + "/v1/tenants/self"
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		outer.Close()
	})
	return s
}

// change publishes the addition of a user's memory. Its id is the event's id.
func (s *system) change(tenantID, user, id string) {
	s.t.Helper()
	c := contract.MemoryChange{
		Envelope:  contract.Envelope{EventID: id, Scope: memory.Scope{Tenant: tenantID, User: user}},
		Operation: memory.OpAdd, MemoryID: "m-" + id, Time: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC),
	}
	value, err := c.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.out.Publish(s.t.Context(), bus.Message{Topic: contract.TopicMemoryChanges, Key: c.Key(),
		Value: value}); err != nil {
		s.t.Fatal(err)
	}
}

// told is an event in the client's view.
type told struct{ id, name, data string }

// listen opens a stream, and passes on its events until the client or the stream ends.
func (s *system) listen(path, key, lastID string) (events <-chan told, cancel func()) {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	res := s.ask(ctx, path, key, lastID)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("%s: %s", path, res.Status)
	}
	out, done := make(chan told), make(chan struct{})
	opened := make(chan struct{})
	go func() {
		defer close(done)
		defer close(out)
		defer res.Body.Close()
		read(ctx, bufio.NewScanner(res.Body), out, opened)
	}()
	cancel = func() { stop(); <-done }
	s.t.Cleanup(cancel)
	<-opened
	return out, cancel
}

// read parses events. The lines before the first of them say that the stream is open.
func read(ctx context.Context, lines *bufio.Scanner, out chan<- told, opened chan struct{}) {
	var e told
	first := true
	defer func() {
		if first {
			close(opened)
		}
	}()
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "id":
			e.id = value
		case name == "event":
			e.name = value
		case name == "data":
			e.data = value
		case lines.Text() == "" && first:
			first = false
			close(opened)
		case lines.Text() == "" && e.name != "":
			select {
			case out <- e:
			case <-ctx.Done():
				return
			}
			e = told{id: e.id}
		}
	}
}

func (s *system) ask(ctx context.Context, path, key, lastID string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return res
}

// next waits for an event.
func (s *system) next(events <-chan told) told {
	s.t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			s.t.Fatal("the stream has ended")
		}
		return e
	case <-time.After(20 * time.Second):
		s.t.Fatal("nothing is told")
	}
	return told{}
}

// wants waits for additions by their ids.
func (s *system) wants(events <-chan told, ids ...string) (last told) {
	s.t.Helper()
	for _, id := range ids {
		last = s.next(events)
		if last.name != "memory.added" || !strings.Contains(last.data, `"id":"`+id+`"`) {
			s.t.Fatalf("told %+v, want %s", last, id)
		}
	}
	return last
}

func TestAUsersEventsAndOnlyThose(t *testing.T) {
	s := open(t)
	events, _ := s.listen("/users/ines/events", "INES", "")
	s.change("acme", "ben", "b1")
	s.change("globex", "ines", "g1")
	s.change("acme", "ines", "i1")
	s.change("acme", "ines", "i2")
	got := s.wants(events, "i1", "i2")
	if !strings.Contains(got.data, `"memory_id":"m-i2"`) || !strings.Contains(got.data, `"user_id":"ines"`) {
		t.Errorf("told %s", got.data)
	}
}

func TestATenantsEventsAndOnlyThose(t *testing.T) {
	s := open(t)
	events, _ := s.listen("/events", "ALL", "")
	s.change("globex", "ines", "g1")
	want := []string{}
	for i := range 20 {
		id := "t" + strconv.Itoa(i)
		s.change("acme", "user-"+strconv.Itoa(i), id)
		want = append(want, id)
	}
	for range want {
		e := s.next(events)
		i := slices.IndexFunc(want, func(id string) bool { return strings.Contains(e.data, `"id":"`+id+`"`) })
		if i < 0 {
			t.Fatalf("told %+v, want one of %v", e, want)
		}
		want = slices.Delete(want, i, i+1)
	}
}

func TestWhoComesBackIsToldWhatCameSinceOnce(t *testing.T) {
	for path, others := range map[string][]string{"/users/ines/events": {"m1", "m2"}, "/events": {"m1", "m2", "other"}} {
		t.Run(path, func(t *testing.T) {
			s := open(t)
			events, leave := s.listen(path, "ALL", "")
			s.change("acme", "ines", "before")
			last := s.wants(events, "before")
			leave()
			s.change("acme", "ben", "other")
			s.change("acme", "ines", "m1")
			s.change("acme", "ines", "m2")
			events, leave = s.listen(path, "ALL", last.id)
			var missed []string
			for range others { // ben's events come from another partition, before or after
				missed = append(missed, s.next(events).data)
			}
			slices.Sort(missed)
			for i, id := range others {
				if !strings.Contains(missed[i], `"id":"`+id+`"`) {
					t.Errorf("told %q, want %q", missed, others)
				}
			}
			s.change("acme", "ines", "after")
			s.wants(events, "after")
			leave()
		})
	}
}

func TestWhoWasAwayForTooLongIsToldThatSomethingMayBeMissing(t *testing.T) {
	for reason, miss := range map[string]func(s *system, partition int){
		"too_many": func(*system, int) {},
		"retention": func(s *system, partition int) {
			_, end, err := s.changes.Bounds(s.t.Context(), partition)
			if err == nil {
				err = s.changes.Cut(s.t.Context(), partition, end-2)
			}
			if err != nil {
				s.t.Fatal(err)
			}
		},
	} {
		t.Run(reason, func(t *testing.T) {
			s := open(t, func(p *stream.Parts) { p.Replay = 3 })
			events, leave := s.listen("/users/ines/events", "INES", "")
			s.change("acme", "ines", "before")
			last := s.wants(events, "before")
			leave()
			present, leave := s.listen("/users/ines/events", "INES", "")
			for n := range 6 {
				s.change("acme", "ines", "m"+strconv.Itoa(n))
			}
			s.wants(present, "m0", "m1", "m2", "m3", "m4", "m5") // who is there misses nothing
			leave()
			partition, err := s.changes.PartitionOf(t.Context(), []byte("acme/ines"))
			if err != nil {
				t.Fatal(err)
			}
			miss(s, partition)
			events, _ = s.listen("/users/ines/events", "INES", last.id)
			if e := s.next(events); e.name != "gap" || !strings.Contains(e.data, reason) {
				t.Errorf("told %+v", e)
			}
			e := s.next(events)
			if reason == "too_many" { // it reads the last three, otherwise the kept events
				if !strings.Contains(e.data, `"m3"`) {
					t.Errorf("told %+v", e)
				}
				e = s.next(events)
			}
			if !strings.Contains(e.data, `"m4"`) {
				t.Errorf("told %+v", e)
			}
			s.wants(events, "m5")
		})
	}
}

func TestChangesOfOthersMoveThePlaceWhereAClientGoesOn(t *testing.T) {
	s := open(t)
	res := s.ask(t.Context(), "/users/ines/events", "INES", "")
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	ids := func(want func(id string) bool) (id string) { // heartbeats come until there is one
		for lines.Scan() {
			if name, value, _ := strings.Cut(lines.Text(), ": "); name == "id" && want(value) {
				return value
			}
		}
		t.Fatal("the stream has ended")
		return ""
	}
	first := ids(func(string) bool { return true })
	partition, err := s.changes.PartitionOf(t.Context(), []byte("acme/ines"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		other := "other-" + strconv.Itoa(n)
		if p, err := s.changes.PartitionOf(t.Context(), []byte("acme/"+other)); err != nil || p == partition {
			s.change("acme", other, "theirs")
			break
		}
	}
	if later := ids(func(id string) bool { return id != first }); later == first {
		t.Errorf("still %s", later)
	}
}

// A client that reads nothing holds neither memory nor a place for long, and the others go on.
func TestASlowClientIsLeft(t *testing.T) {
	s := open(t, func(p *stream.Parts) { p.Buffer, p.WriteTimeout = 4, 200*time.Millisecond })
	slow := s.ask(t.Context(), "/users/ines/events", "INES", "")
	defer func() { _ = slow.Body.Close() }()
	quick, _ := s.listen("/users/ben/events", "ALL", "")
	deadline := time.Now().Add(60 * time.Second)
	for n := 0; s.open.Load() == 2; n++ {
		if time.Now().After(deadline) {
			t.Fatal("it is still served")
		}
		for range 200 {
			s.change("acme", "ines", strings.Repeat("long", 25)+strconv.Itoa(n))
		}
	}
	s.change("acme", "ben", "theirs")
	s.wants(quick, "theirs")
}

// The offsets of a topic say how much other tenants do.
func TestIDsOfEventsSayNothing(t *testing.T) {
	s := open(t)
	for _, path := range []string{"/users/ines/events", "/events"} {
		events, leave := s.listen(path, "ALL", "")
		seen := map[string]bool{}
		for n := range 3 {
			s.change("acme", "ines", strconv.Itoa(n))
			id := s.wants(events, strconv.Itoa(n)).id
			sealed, err := base64.RawURLEncoding.DecodeString(id)
			if err != nil || len(id) > 80 || len(sealed) < 28 || seen[string(sealed[:6])] { // it differs from its beginning on
				t.Errorf("%s: the id is %q", path, id)
			}
			seen[string(sealed[:6])] = true
		}
		leave()
	}
}

func TestAReplicaGoesOnWhereAnotherWas(t *testing.T) {
	broker := bustest.StartBroker(t, 4, contract.TopicMemoryChanges)
	one, two := openOn(t, broker), openOn(t, broker)
	other := openOn(t, broker, func(p *stream.Parts) { p.Secret = "another secret" })
	for _, path := range []string{"/users/ines/events", "/events"} {
		events, leave := one.listen(path, "ALL", "")
		one.change("acme", "ines", "before")
		last := one.wants(events, "before")
		leave()
		one.change("acme", "ines", "missed")
		events, leave = two.listen(path, "ALL", last.id)
		two.wants(events, "missed")
		leave()
		events, leave = other.listen(path, "ALL", last.id)
		if e := other.next(events); e.name != "gap" || !strings.Contains(e.data, "unknown") {
			t.Errorf("%s with another secret: told %+v", path, e)
		}
		leave()
		events, leave = one.listen("/users/ben/events", "ALL", last.id)
		if e := one.next(events); e.name != "gap" || !strings.Contains(e.data, "unknown") {
			t.Errorf("another stream with the id of %s: told %+v", path, e)
		}
		leave()
	}
}

func TestAPositionThatIsNone(t *testing.T) {
	s := open(t)
	for _, path := range []string{"/users/ines/events", "/events"} {
		known, leave := s.listen(path, "ALL", "")
		s.change("acme", "ines", "one")
		last := s.wants(known, "one").id
		leave()
		events, _ := open(t).listen(path, "ALL", last) // of a topic that was made anew
		if e := s.next(events); e.name != "gap" || !strings.Contains(e.data, "unknown") {
			t.Errorf("%s: told %+v", path, e)
		}
	}
	for _, id := range []string{"x", "1", "-1-2", "0-1", "0:1,1:2", "0-1,1-2", strings.Repeat("A", 33<<10)} {
		res := s.ask(t.Context(), "/users/ines/events", "ALL", id)
		said, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusBadRequest ||
			!strings.Contains(string(said), `"field":"Last-Event-ID"`) {
			t.Errorf("%.40s: %s %s", id, res.Status, said)
		}
	}
}

func TestStreamsOfOthersAreRefused(t *testing.T) {
	s := open(t)
	for _, c := range []struct {
		path, key string
		want      int
	}{
		{"/events", "INES", 403}, {"/users/ben/events", "INES", 403}, {"/users/INES/events", "INES", 403},
		{"/users/ines/events", "INGEST", 403},
		{"/users/ines/events", "unknown", 401},
	} {
		res := s.ask(t.Context(), c.path, c.key, "")
		_ = res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s with %s: %s, want %d", c.path, c.key, res.Status, c.want)
		}
	}
}

func TestHEADOfAStream(t *testing.T) {
	s := open(t)
	for path, want := range map[string]int{"/users/ines/events": 200, "/users/ben/events": 403} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, s.url+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer INES")
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want || want == 200 && res.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: %s, %s", path, res.Status, res.Header.Get("Content-Type"))
		}
	}
	if n := s.open.Load(); n != 0 {
		t.Errorf("%d streams are open", n)
	}
}

func TestWhyStreamsEnd(t *testing.T) {
	for reason, end := range map[string]func(*system){
		"unauthorized": func(s *system) { s.keys.revoked.Store(true) },
		"stopping":     func(s *system) { close(s.stopping) },
	} {
		t.Run(reason, func(t *testing.T) {
			s := open(t)
			events, _ := s.listen("/users/ines/events", "INES", "")
			end(s)
			if e := s.next(events); e.name != "end" || !strings.Contains(e.data, reason) {
				t.Errorf("told %+v", e)
			}
			if _, more := <-events; more {
				t.Error("the stream goes on")
			}
		})
	}
}

func TestAServerWithoutItsPartsIsNone(t *testing.T) {
	if _, err := stream.New(stream.Parts{Auth: &keys{}, Streams: &unlimited{}, Secret: "s",
		Write: rest.WriteProblem}); err == nil ||
		!strings.Contains(err.Error(), "Changes") {
		t.Errorf("got %v", err)
	}
}
