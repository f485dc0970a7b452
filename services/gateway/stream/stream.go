// Package stream sends memory changes to clients as they happen, as server-sent events. A user's events are at
// /v1/tenants/self/users/{user}/events. A whole tenant's events are at /v1/tenants/self/events. Events contain ids,
// and no texts.
//
// A replica reads the topic of changes once for all its clients, from the topic's end. A client may send the id of
// its last event (Last-Event-ID). It then gets the later events first, from Kafka: the id is a sealed position
// there. If Kafka no longer has that position, or if there are too many later events, the first event is "gap". The
// client must then read memories anew.
//
// The last event of a stream that the server ends is "end", with the reason. Reasons are slow_client, unauthorized
// (the key is revoked, expired, or cannot be checked), stopping, and unavailable. The events before it are
// complete: the client continues with Last-Event-ID.
package stream

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Defaults of Parts.
const (
	DefaultHeartbeat    = 15 * time.Second
	DefaultCheck        = 2 * time.Second
	DefaultConfirm      = 5 * time.Second
	DefaultRetry        = 3 * time.Second
	DefaultWriteTimeout = 10 * time.Second
	DefaultBuffer       = 256
	DefaultReplay       = 50_000
)

const (
	// readyWait is the time that a new stream waits for the hub's start position.
	readyWait = 5 * time.Second
	// replays is the limit on concurrent replays. The memory that a replay holds is bounded.
	replays = 8
)

// Streams bounds how many streams are open; quota.Streams does.
type Streams interface {
	// Acquire counts a stream that is about to be opened; release ends it. The error is a problem.Problem.
	Acquire(ctx context.Context, p access.Principal) (release func(), err error)
}

// Parts are the dependencies of streams. All fields down to Write are needed. Durations and numbers of 0 have
// defaults.
type Parts struct {
	// Changes is the topic of memory changes.
	Changes bus.Log
	// Auth says whether a key is still good.
	Auth    guard.Authenticator
	Streams Streams
	// Secret seals the ids of events; it is the same in all replicas.
	Secret string
	// Write writes problems.
	Write guard.Writer
	// Stopping is closed when the service begins to stop; nil for one that does not.
	Stopping <-chan struct{}
	// Log receives errors that clients do not see. nil means no log.
	Log *slog.Logger

	// Heartbeat is how often a client hears something at least.
	Heartbeat time.Duration
	// Check is how often the key of an open stream is checked. A stream ends where that was not possible for Confirm.
	Check, Confirm time.Duration
	// Retry is when clients are to come back after an end.
	Retry time.Duration
	// WriteTimeout is how long a client may take to take something in.
	WriteTimeout time.Duration
	// Buffer is how many events may wait for a client.
	Buffer int
	// Replay is how many records, of whomever, are read at most for a client that comes back.
	Replay int
}

// Server serves streams. It is safe for concurrent use. Run must run at the same time.
type Server struct {
	p       Parts
	hub     *hub
	replays chan struct{}
}

// New makes a server. Its error says which part is missing.
func New(p Parts) (*Server, error) {
	for name, missing := range map[string]bool{
		"Changes": p.Changes == nil, "Auth": p.Auth == nil, "Streams": p.Streams == nil, "Secret": p.Secret == "",
		"Write": p.Write == nil,
	} {
		if missing {
			return nil, errors.New("streams without " + name)
		}
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&p.Heartbeat, DefaultHeartbeat}, {&p.Check, DefaultCheck}, {&p.Confirm, DefaultConfirm}, {&p.Retry, DefaultRetry},
		{&p.WriteTimeout, DefaultWriteTimeout},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if p.Buffer <= 0 {
		p.Buffer = DefaultBuffer
	}
	if p.Replay <= 0 {
		p.Replay = DefaultReplay
	}
	return &Server{p: p, hub: newHub(p.Changes, p.Log), replays: make(chan struct{}, replays)}, nil
}

// Run reads changes for all clients until ctx ends; then all streams end, and it returns nil. Call it once.
func (s *Server) Run(ctx context.Context) error { return s.hub.run(ctx) }

// base begins the paths.
const base = "/v1/tenants/self"

// route returns the user of a path, escaped. It is empty for the tenant's path.
func route(r *http.Request) (user string, ok bool) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), base)
	if !ok || rest == "/events" {
		return "", ok
	}
	user, ok1 := strings.CutPrefix(rest, "/users/")
	user, ok2 := strings.CutSuffix(user, "/events")
	return user, ok1 && ok2 && !strings.Contains(user, "/")
}

// ServeHTTP serves a stream until one side ends it. guard.Guard stands before it. It needs access.Read.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.serve(w, r); err != nil {
		p := problem.From(err)
		if p.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
			s.p.Log.ErrorContext(r.Context(), "stream", "error", err)
		}
		s.p.Write(w, r, p)
	}
}

// serve returns an error where nothing has been answered.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	scope, err := s.admit(w, r)
	if err != nil {
		return err
	}
	ids, err := newSeal(s.p.Secret, scope)
	if err != nil {
		return err
	}
	since, err := ids.position(r.Header)
	if err != nil {
		return err
	}
	key, err := guard.KeyOf(r.Header)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		describe(w.Header())
		return nil
	}
	if err := s.ready(r.Context()); err != nil {
		return err
	}
	v := &visit{
		Server: s, client: &client{scope: scope, queue: make(chan item, s.p.Buffer), cut: make(chan struct{})},
		ids: ids, w: w, control: http.NewResponseController(w), key: key, confirmed: time.Now(),
	}
	v.principal, _ = access.FromContext(r.Context()) // admitted
	if err := v.begin(r.Context(), since); err != nil {
		return err
	}
	release, err := s.p.Streams.Acquire(r.Context(), v.principal)
	if err != nil {
		return err
	}
	defer release()
	return v.run(r)
}

// admit returns the scope of a request's events.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (memory.Scope, error) {
	escaped, ok := route(r)
	if !ok {
		return memory.Scope{}, problem.NotFound("no stream has this path")
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return memory.Scope{}, problem.Method(http.MethodGet, http.MethodHead)
	}
	user, err := url.PathUnescape(escaped)
	if err != nil {
		return memory.Scope{}, problem.Invalid("user", "is not percent-encoded")
	}
	ofTenant := strings.HasSuffix(r.URL.EscapedPath(), base+"/events")
	if err := memory.ValidUser(user); !ofTenant && err != nil {
		return memory.Scope{}, problem.Invalid("user", strings.TrimPrefix(err.Error(), "user_id: "))
	}
	if err := backend.Check(r.Context(), access.Read, user); err != nil {
		return memory.Scope{}, err
	}
	for name := range r.URL.Query() {
		return memory.Scope{}, problem.Invalid(shownName(name), "is not a parameter of this stream")
	}
	p, _ := access.FromContext(r.Context()) // checked
	return memory.Scope{Tenant: p.Tenant.ID, User: user}, nil
}

// maxName is how much of the name of a parameter is repeated to a client, in bytes.
const maxName = 64

func shownName(name string) string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	return strings.ToValidUTF8(name, "?")
}

// ready waits for the hub's start position.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	select {
	case <-s.hub.done:
	case <-s.p.Stopping:
	case <-ctx.Done():
	case <-s.hub.ready:
		select {
		case <-s.hub.done:
		case <-s.p.Stopping:
		default:
			return nil
		}
	}
	return problem.Unavailable("the gateway cannot stream changes of memory at the moment, try again", s.p.Retry)
}
