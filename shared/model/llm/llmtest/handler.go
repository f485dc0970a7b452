// Package llmtest is a scripted OpenAI-compatible endpoint. By default it answers every role of Mneme with a small
// deterministic fake model. The fake model can form and recall memories from plain conversations. A script makes it
// misbehave call by call. It is a plain http.Handler, so it can also replace a model server outside tests.
package llmtest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/model/llm"
)

// Handler serves POST .../chat/completions and .../embeddings. It is safe for concurrent use.
type Handler struct {
	dimension int

	mu      sync.Mutex
	scripts map[llm.Role][]Step
	always  Step
	calls   map[llm.Role][]Call
	refuses map[string]bool
}

// Option changes a handler.
type Option func(*Handler)

// WithDimension sets the length of embeddings; 64 by default.
func WithDimension(n int) Option { return func(h *Handler) { h.dimension = n } }

// WithRefusedFields answers requests that carry one of these fields with status 400 and the name of the field.
// Servers without support for response_format, temperature, seed or max_tokens do the same.
func WithRefusedFields(fields ...string) Option {
	return func(h *Handler) {
		for _, f := range fields {
			h.refuses[f] = true
		}
	}
}

// NewHandler makes a handler whose default is the fake model.
func NewHandler(opts ...Option) *Handler {
	h := &Handler{dimension: 64, scripts: map[llm.Role][]Step{}, calls: map[llm.Role][]Call{}, refuses: map[string]bool{},
		always: FakeModel()}
	for _, o := range opts {
		o(h)
	}
	return h
}

// Script appends the steps for the next calls of a role, one step a call. After them the default applies again.
func (h *Handler) Script(role llm.Role, steps ...Step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scripts[role] = append(h.scripts[role], steps...)
}

// Always replaces the default of all roles.
func (h *Handler) Always(s Step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.always = s
}

// Calls returns the requests of a role, oldest first.
func (h *Handler) Calls(role llm.Role) []Call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Call(nil), h.calls[role]...)
}

// Count is how many requests a role has sent.
func (h *Handler) Count(role llm.Role) int { return len(h.Calls(role)) }

// Total is how many requests came in all.
func (h *Handler) Total() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, c := range h.calls {
		n += len(c)
	}
	return n
}

// ServeHTTP records the call and does its step.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var c Call
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	chat := strings.HasSuffix(r.URL.Path, "/chat/completions")
	embed := strings.HasSuffix(r.URL.Path, "/embeddings")
	switch {
	case r.Method != http.MethodPost || !(chat || embed):
		writeError(w, http.StatusNotFound, "", "unknown_url", "no such path")
		return
	case err != nil:
		writeError(w, http.StatusBadRequest, "", "invalid_json", "the body is not JSON")
		return
	}
	c.Role, c.Authorization, c.Raw = llm.Role(r.Header.Get(llm.RoleHeader)), r.Header.Get("Authorization"), body
	c.dimension = h.dimension
	if c.Dimensions > 0 {
		c.dimension = c.Dimensions
	}
	step := h.record(c)
	if field := h.refused(body); field != "" {
		writeError(w, http.StatusBadRequest, field, "unsupported_parameter", "this server does not take "+field)
		return
	}
	step(w, r, c)
}

func (h *Handler) refused(body []byte) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return ""
	}
	for f := range h.refuses {
		if _, ok := fields[f]; ok {
			return f
		}
	}
	return ""
}

// record keeps the call and takes its step from the script.
func (h *Handler) record(c Call) Step {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[c.Role] = append(h.calls[c.Role], c)
	steps := h.scripts[c.Role]
	if len(steps) == 0 {
		return h.always
	}
	h.scripts[c.Role] = steps[1:]
	return steps[0]
}
