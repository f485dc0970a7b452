package runner

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// checkTimeout bounds one readiness check; probes usually give up after a second or two.
const checkTimeout = 2 * time.Second

// health answers /healthz and /readyz.
type health struct {
	log *slog.Logger

	mu      sync.Mutex
	missing string          // why the service is not ready whatever the checks say; empty when it may be
	checks  []Check         // set once
	failing map[string]bool // what failed when last asked, so that only changes are logged
}

func newHealth(log *slog.Logger) *health {
	return &health{log: log, missing: "startup", failing: make(map[string]bool)}
}

// lack makes the service not ready; what is public.
func (h *health) lack(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missing = what
}

// ready leaves readiness to the checks from now on.
func (h *health) ready(checks []Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missing, h.checks = "", checks
}

func (h *health) state() (missing string, checks []Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.missing, h.checks
}

type healthReply struct {
	Status  string   `json:"status"`
	Failing []string `json:"failing,omitempty"`
}

func (h *health) serveAlive(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, healthReply{Status: "alive"})
}

func (h *health) serveReady(w http.ResponseWriter, r *http.Request) {
	if failing := h.ask(r.Context()); len(failing) > 0 {
		reply(w, http.StatusServiceUnavailable, healthReply{Status: "unavailable", Failing: failing})
		return
	}
	reply(w, http.StatusOK, healthReply{Status: "ready"})
}

// ask runs all checks at once and returns the names of those that fail, in their own order.
func (h *health) ask(ctx context.Context) []string {
	missing, checks := h.state()
	if missing != "" {
		return []string{missing}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	errs := make([]error, len(checks))
	var all sync.WaitGroup
	for i, check := range checks {
		all.Go(func() { errs[i] = check.Run(ctx) })
	}
	all.Wait()
	var failing []string
	for i, check := range checks {
		h.note(check.Name, errs[i])
		if errs[i] != nil {
			failing = append(failing, check.Name)
		}
	}
	return failing
}

// note logs when a check begins to fail and when it passes again.
func (h *health) note(name string, err error) {
	h.mu.Lock()
	before := h.failing[name]
	h.failing[name] = err != nil
	h.mu.Unlock()
	switch {
	case err != nil && !before:
		h.log.Warn("readiness lost", "check", name, "error", err.Error())
	case err == nil && before:
		h.log.Info("readiness regained", "check", name)
	}
}

func reply(w http.ResponseWriter, status int, body healthReply) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the prober has gone: nobody is left to tell
}
