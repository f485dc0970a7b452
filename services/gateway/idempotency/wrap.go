// Package idempotency carries out a request with an Idempotency-Key once. A repeated request receives the first
// answer. shared/store/idempotency stores the answers.
package idempotency

import (
	"log/slog"

	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	store "github.com/mneme-memory/mneme/shared/store/idempotency"

	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
)

// Header is the header that carries the key.
const Header = problem.IdempotencyKey

// Replayed is the header of a repeated answer.
const Replayed = "Idempotency-Replayed"

// MaxKey bounds a key, in bytes.
const MaxKey = 255

// Requests has requests carried out once. It is safe for concurrent use.
type Requests struct {
	*store.Store
	// Log receives answers that were not stored, and errors that callers do not see.
	Log *slog.Logger
}

// KeyOf returns the key of a request. Its errors are problems that name the header.
func KeyOf(h http.Header) (string, error) {
	values := h.Values(Header)
	if len(values) == 0 {
		return "", problem.Invalid(Header, "is missing: send a new key with each new request, and the same one when "+
			"you repeat it")
	}
	if len(values) > 1 {
		return "", problem.Invalid(Header, "occurs several times, want one")
	}
	key := values[0]
	if key == "" || len(key) > MaxKey || strings.ContainsFunc(key, func(c rune) bool { return c < '!' || c > '~' }) {
		return "", problem.Invalid(Header, "is invalid, want 1 to "+strconv.Itoa(MaxKey)+" visible ASCII characters")
	}
	return key, nil
}

// Wrap carries out a request with an Idempotency-Key once by next, and answers a repeated request with the first
// answer. It refuses requests without a key. The caller is authenticated and authorized before
// (access.FromContext). Only answers below 400 are stored. A refused or failed request may be repeated. Wrap reads
// the body, so the size limit applies before. The user of a request is the "user" of its path. Secrets are fields
// of the answer's body that clients see once. They are not stored, and a repeated answer lacks them.
func (s *Requests) Wrap(write guard.Writer, next http.Handler, secrets ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.serve(w, r, next, secrets); err != nil {
			p := problem.From(err)
			if p.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
				s.note(r.Context(), err)
			}
			write(w, r, p)
		}
	})
}

// serve returns an error where nothing has been answered.
func (s *Requests) serve(w http.ResponseWriter, r *http.Request, next http.Handler, secrets []string) error {
	p, ok := access.FromContext(r.Context())
	if !ok {
		return errors.New("idempotency: the call has no caller")
	}
	key, err := KeyOf(r.Header)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	credential, err := guard.KeyOf(r.Header)
	if err != nil {
		credential = p.KeyID // whoever let the call in knew it by other means
	}
	scope := store.Scope{
		Tenant: p.Tenant.ID, User: r.PathValue("user"), Route: r.Method + " " + r.URL.EscapedPath(), Credential: credential,
	}
	stored, claim, err := s.Begin(r.Context(), scope, key, append([]byte(r.URL.RawQuery+"\n"), body...))
	switch {
	case err != nil:
		return err
	case stored != nil:
		stored.Header.Set(Replayed, "true")
		writeStored(w, *stored)
	default:
		s.carryOut(w, r, claim, next, secrets)
	}
	return nil
}

// carryOut answers, and keeps the answer first: a client that has it never sees another one, but for secrets.
func (s *Requests) carryOut(
	w http.ResponseWriter, r *http.Request, claim *store.Claim, next http.Handler, secrets []string,
) {
	after := context.WithoutCancel(r.Context()) // the answer is recorded even if the client disconnects
	finished := false
	defer func() {
		if !finished { // next has panicked
			s.note(after, claim.Release(after))
		}
	}()
	within, cancel := context.WithTimeout(r.Context(), s.Lease()/2)
	defer cancel()
	answer := &recorder{header: http.Header{}}
	next.ServeHTTP(answer, r.WithContext(within))
	finished = true
	out := answer.stored()
	if out.Status >= http.StatusBadRequest {
		s.note(after, claim.Release(after))
	} else {
		s.note(after, claim.Finish(after, without(out, secrets)))
	}
	writeStored(w, out)
}

func (s *Requests) note(ctx context.Context, err error) {
	if err != nil {
		s.Log.ErrorContext(ctx, "idempotency", "error", err)
	}
}

// without is the answer without fields of its body. Of a body that is no object nothing is left.
func without(a store.Stored, fields []string) store.Stored {
	if len(fields) == 0 {
		return a
	}
	body := map[string]json.RawMessage{}
	_ = json.Unmarshal(a.Body, &body)
	for _, name := range fields {
		delete(body, name)
	}
	a.Body, _ = json.Marshal(body) // a decoded body can be encoded
	return a
}

func writeStored(w http.ResponseWriter, a store.Stored) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the client has gone
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

func (r *recorder) stored() store.Stored {
	r.WriteHeader(http.StatusOK)
	return store.Stored{Status: r.status, Header: r.header, Body: r.body.Bytes()}
}
