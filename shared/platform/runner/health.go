package runner

import (
	"encoding/json"
	"net/http"
	"sync"
)

// health answers /healthz and /readyz. A service is ready from the end of its build until it ends. Readiness
// includes the dependencies only during the build. An outage of a store that all replicas share must not make all
// replicas unready at once. They can still serve calls that do not need the store, and report the error of other
// calls.
type health struct {
	mu      sync.Mutex
	missing string // the reason for an unready service; empty when it is ready
}

// ready makes the service ready.
func (h *health) ready() { h.lack("") }

// lack makes the service not ready. The argument is public.
func (h *health) lack(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missing = what
}

type healthReply struct {
	Status  string   `json:"status"`
	Failing []string `json:"failing,omitempty"`
}

func (h *health) serveAlive(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, healthReply{Status: "alive"})
}

func (h *health) serveReady(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	missing := h.missing
	h.mu.Unlock()
	if missing != "" {
		reply(w, http.StatusServiceUnavailable, healthReply{Status: "unavailable", Failing: []string{missing}})
		return
	}
	reply(w, http.StatusOK, healthReply{Status: "ready"})
}

func reply(w http.ResponseWriter, status int, body healthReply) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the prober may have gone
}
