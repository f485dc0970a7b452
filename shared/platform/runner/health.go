package runner

import (
	"encoding/json"
	"net/http"
	"sync"
)

// health answers /healthz and /readyz. A service is ready from when it is built until it ends: what it depends on is asked for while it is
// built, and no longer. A store that all replicas share, and that is away for a while, would take all of them out of their Service
// at once, and with them what they can do without it and every error that says what is the matter.
type health struct {
	mu      sync.Mutex
	missing string // why the service is not ready; empty when it is
}

// ready makes the service ready.
func (h *health) ready() { h.lack("") }

// lack makes the service not ready; what is public.
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
	_ = json.NewEncoder(w).Encode(body) // the prober has gone: nobody is left to tell
}
