// Package erasure_test adds users' data through every interface of a whole Mneme and erases the users in every way.
// Then it searches all stores, topics, histories and files for their ids and words.
package erasure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/test/harness"
)

const (
	// patience is the time limit of every wait, far longer than usual.
	patience  = 2 * time.Minute
	pollEvery = 100 * time.Millisecond
)

// system is a running Mneme with a webhook that always fails.
type system struct {
	caller
	stack  *standalone.Stack
	dir    string
	binary string

	endKeeping func()
}

// start runs all of Mneme and registers a webhook whose endpoint fails, so that deliveries wait.
func start(t *testing.T) *system {
	t.Helper()
	programs, err := harness.Programs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &system{dir: t.TempDir(), binary: filepath.Join(programs, "mneme")}
	stack, err := standalone.Start(t.Context(), standalone.Options{
		Dir: s.dir, Progress: t.Output(), Environ: map[string]string{
			"MNEME_GATEWAY_REQUESTS_PER_SECOND": "0", "MNEME_WEBHOOK_PRIVATE_ADDRESSES": "true",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.stack, s.caller = stack, caller{at: stack.Connection, http: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(s.http.CloseIdleConnections)
	s.keepRunning(t)
	s.out = publisher(t, stack.Connection.Brokers)
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(failing.Close)
	s.call(t, http.MethodPost, "/v1/tenants/self/webhooks", map[string]any{"url": failing.URL})
	return s
}

// keepRunning does the same as a running `mneme up`: Redis rewrites its file.
func (s *system) keepRunning(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.stack.Wait(ctx) }()
	s.endKeeping = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// stop stops the stack, once.
func (s *system) stop(t *testing.T) {
	t.Helper()
	if s.stack == nil {
		return
	}
	s.endKeeping()
	if err := s.stack.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	s.stack = nil
}

// person is a user with a unique id and a unique word.
type person struct{ user, word, erasure string }

func personOf(name string) person {
	return person{user: "zq-" + name + "-id", word: "Quill" + strings.ReplaceAll(name, "-", "") + "haven"}
}

func TestNothingIsLeftOfAnErasedUser(t *testing.T) {
	s := start(t)
	defer s.stop(t)
	// All users are filled first, so that their memories are formed at the same time. No erasure runs during the searches
	// before it.
	var all []person
	for _, w := range ways() {
		p := personOf(w.name)
		s.fill(t, p.user, p.word)
	}
	for _, w := range ways() {
		p := personOf(w.name)
		s.use(t, p.user, p.word)
		s.awaitFound(t, p)
		words, _ := marks(p)
		before := s.search(t, words)
		for _, store := range []string{"redis", "bank", "dead letters", "histories"} {
			if len(before.in(store)) == 0 {
				t.Errorf("before the erasure the search finds nothing in %s: it proves nothing", store)
			}
		}
	}
	for _, w := range ways() {
		p := personOf(w.name)
		p.erasure = w.erase(t, s, p.user)
		all = append(all, p)
	}
	all = append(all, s.eraseAtOnce(t)...)
	all = append(all, s.eraseTogether(t, 6)...)
	for _, p := range all {
		s.awaitDone(t, p)
	}
	for _, p := range all {
		words, ids := marks(p)
		left := append(s.search(t, words), slices.DeleteFunc(s.search(t, ids), named)...)
		if len(left) > 0 {
			t.Errorf("of %s something is left:\n%s", p.user, strings.Join(left, "\n"))
		}
		s.checkScan(t, p.user)
	}
	s.awaitRewritten(t, all)
	s.stop(t)
	for _, p := range all {
		checkFiles(t, s.dir, p)
	}
}

// awaitRewritten waits until no file of Redis or Temporal contains words of erased users.
func (s *system) awaitRewritten(t *testing.T, all []person) {
	t.Helper()
	var left []string
	defer func() {
		if len(left) > 0 {
			t.Logf("words are left in %s", strings.Join(left, ", "))
		}
	}()
	await(t, "Redis and Temporal have rewritten their files", func(context.Context) bool {
		left = nil
		for _, p := range all {
			words, _ := marks(p)
			for _, file := range files(t, s.dir, words) {
				if strings.HasPrefix(file, "redis/") || strings.HasPrefix(file, "temporal/") {
					left = append(left, p.user+" in "+file)
				}
			}
		}
		return len(left) == 0
	})
}

// eraseAtOnce erases users right after the end of a session, while deliveries of changes to webhooks are pending.
func (s *system) eraseAtOnce(t *testing.T) []person {
	t.Helper()
	var out []person
	for _, w := range ways()[:3] {
		p := personOf("soon-" + w.name)
		s.fill(t, p.user, p.word)
		p.erasure = w.erase(t, s, p.user)
		out = append(out, p)
	}
	return out
}

// eraseTogether erases several users within a moment.
func (s *system) eraseTogether(t *testing.T, n int) []person {
	t.Helper()
	out := make([]person, n)
	for i := range out {
		out[i] = personOf(fmt.Sprintf("many-%d", i))
		s.fill(t, out[i].user, out[i].word)
	}
	for i := range out {
		s.use(t, out[i].user, out[i].word)
	}
	for i := range out {
		out[i].erasure = eraseByREST(t, s, out[i].user)
	}
	return out
}

// awaitDone waits for the proof of an erasure.
func (s *system) awaitDone(t *testing.T, p person) {
	t.Helper()
	if p.erasure == "" {
		return // the command has waited
	}
	await(t, "the erasure of "+p.user+" is proved", func(context.Context) bool {
		state, status := s.try(t, http.MethodGet, rest(p.user, "/erasures/"+p.erasure), nil)
		return status == http.StatusOK && state["state"] == "done"
	})
}

// checkScan checks the service's own scan.
func (s *system) checkScan(t *testing.T, user string) {
	t.Helper()
	counts, _ := s.call(t, http.MethodGet, rest(user, "/scan"), nil)["counts"].([]any)
	if len(counts) < 10 {
		t.Errorf("the scan names %d stores: %v", len(counts), counts)
	}
	for _, one := range counts {
		if c, _ := one.(map[string]any); c["count"] != float64(0) {
			t.Errorf("the scan of %s counts %v", user, c)
		}
	}
}

// publisher publishes raw records.
func publisher(t *testing.T, brokers []string) bus.Publisher {
	t.Helper()
	tel, err := telemetry.New(t.Context(), "erasure test", "", telemetry.Config{LogLevel: "error", LogFormat: "text"},
		io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	client, err := wiring.Bus{Brokers: brokers, Partitions: 8, Replicas: 1}.Open(t.Context(), "erasure test", tel)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), tel.Shutdown(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	})
	return client.Publisher
}

// keep lists the places that contain an erased user's words or id for a limited time, as docs/operations/erasure.md
// states. They are segments of the transport topics, and files that Weaviate has not compacted. keepIDs contain only
// ids.
var (
	keep    = []string{"kafka/", "weaviate/"}
	keepIDs = []string{"redis/", "temporal/"}
)

// checkFiles checks that no file of a stopped Mneme contains the user's words or id, except the listed places.
func checkFiles(t *testing.T, dir string, p person) {
	t.Helper()
	in := func(places []string) func(string) bool {
		return func(file string) bool {
			return slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(file, place) })
		}
	}
	words, ids := marks(p)
	for _, file := range slices.DeleteFunc(files(t, dir, words), in(keep)) {
		t.Errorf("the file %s still holds words of %s", file, p.user)
	}
	for _, file := range slices.DeleteFunc(files(t, dir, ids), in(slices.Concat(keep, keepIDs))) {
		t.Errorf("the file %s still holds the id of %s", file, p.user)
	}
}
