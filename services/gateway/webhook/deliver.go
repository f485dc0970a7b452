package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/changeevent"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
)

const (
	// maxRetryAfter bounds the delay that an endpoint may request.
	maxRetryAfter = time.Hour
	// slotPause is the delay before a retry of a delivery to a busy endpoint.
	slotPause = time.Second
	// leaseAttempts is how many times the time of an attempt a lease lasts.
	leaseAttempts = 3
	// logEvery is how often the log says at most that Redis is away.
	logEvery = 10 * time.Second
	// jitter is the share by which pauses differ.
	jitter = 0.2
)

// attrResult is the attribute of an attempt's result: delivered, failed or dead.
const attrResult = attribute.Key("mneme.webhook.result")

// Handle stores deliveries of memory changes for the endpoints that want them. It is a bus.Handler for
// contract.TopicMemoryChanges. A repeated change within a day is delivered once. An erasure first drops the user's
// waiting deliveries, because a user's changes come in order. Its errors are terminal for a record that is not a
// change, else retryable.
func (h *Webhooks) Handle(ctx context.Context, batch []bus.Message) error {
	for _, m := range batch {
		e, ok, err := changeevent.Of(m.Key, m.Value)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if e.Type == changeevent.UserErased {
			if err := h.store.Drop(ctx, e.Scope, e.ID); err != nil {
				return err
			}
		}
		if err := h.enqueue(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (h *Webhooks) enqueue(ctx context.Context, e changeevent.Event) error {
	endpoints, err := h.store.Endpoints(ctx, e.Scope.Tenant)
	if err != nil {
		return err
	}
	for _, to := range endpoints {
		if !wants(to, e) {
			continue
		}
		if err := h.store.Enqueue(ctx, to.ID, e); err != nil {
			return err
		}
	}
	return nil
}

// slots bounds attempts of this replica, in all and of each endpoint.
type slots struct {
	mu   sync.Mutex
	busy int
	of   map[string]int
}

func newSlots() *slots { return &slots{of: map[string]int{}} }

func (s *slots) acquire(endpoint string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy >= atOnce || s.of[endpoint] >= perEndpoint {
		return false
	}
	s.busy++
	s.of[endpoint]++
	return true
}

func (s *slots) free(endpoint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	if s.of[endpoint]--; s.of[endpoint] == 0 {
		delete(s.of, endpoint)
	}
}

// Run delivers until ctx ends, and returns nil when the attempts that are under way have ended.
func (h *Webhooks) Run(ctx context.Context) error {
	var attempts sync.WaitGroup
	defer h.client.CloseIdleConnections()
	defer attempts.Wait()
	tick := time.NewTicker(h.o.Poll)
	defer tick.Stop()
	var logged time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := h.round(ctx, &attempts); err != nil && ctx.Err() == nil && time.Since(logged) >= logEvery {
			h.o.Log.ErrorContext(ctx, "cannot deliver webhooks", "error", err)
			logged = time.Now()
		}
	}
}

// round begins attempts of all tenants' deliveries that are due.
func (h *Webhooks) round(ctx context.Context, attempts *sync.WaitGroup) error {
	tenants, err := h.store.Tenants(ctx)
	failed := []error{err}
	for _, tenant := range tenants {
		failed = append(failed, h.roundOf(ctx, tenant, attempts))
	}
	return errors.Join(failed...)
}

func (h *Webhooks) roundOf(ctx context.Context, tenant string, attempts *sync.WaitGroup) error {
	taken, err := h.store.Take(ctx, tenant, leaseAttempts*h.o.Attempt, atOnce, perEndpoint)
	if err != nil || len(taken) == 0 {
		return err
	}
	endpoints, err := h.store.Endpoints(ctx, tenant)
	if err != nil {
		return err
	}
	for _, d := range taken {
		to, there := endpoints[d.Endpoint]
		becomes, after := webhooks.Outcome(""), time.Duration(0)
		switch {
		case d.Damaged, !there: // no attempt can ever be made
			becomes = webhooks.Done
		case !to.Active: // it can be replayed
			becomes, d.Reason, d.DiedAt = webhooks.Dead, "the webhook is switched off", time.Now().UTC()
		case !h.slots.acquire(d.Endpoint):
			becomes, after = webhooks.Again, slotPause
		default:
			attempts.Go(func() {
				defer h.slots.free(d.Endpoint)
				h.attempt(context.WithoutCancel(ctx), tenant, d.Name, to, d.Delivery)
			})
			continue
		}
		if err := h.store.Settle(ctx, tenant, d.Name, becomes, d.Delivery, after); err != nil {
			return err
		}
	}
	return nil
}

// attempt sends a delivery to an endpoint, and stores the result. If the result is not stored, the attempt is
// repeated when its lease is over.
func (h *Webhooks) attempt(ctx context.Context, tenant, name string, to Endpoint, d webhooks.Delivery) {
	status, wait, err := h.post(ctx, to, d)
	d.Attempts++
	d.Status, d.Reason = status, reasonOf(status, err)
	becomes, pause, result := webhooks.Done, time.Duration(0), "delivered"
	switch {
	case d.Reason == "":
	case status == http.StatusGone:
		becomes, result, d.DiedAt = webhooks.Dead, "dead", time.Now().UTC()
		h.deactivate(ctx, tenant, to)
	case d.Attempts > len(h.o.Backoff):
		becomes, result, d.DiedAt = webhooks.Dead, "dead", time.Now().UTC()
	default:
		becomes, result = webhooks.Again, "failed"
		pause = max(spread(h.o.Backoff[d.Attempts-1]), min(wait, maxRetryAfter))
	}
	h.attempts.Add(ctx, 1, metric.WithAttributes(telemetry.AttrTenant.String(tenant), attrResult.String(result)))
	h.record(ctx, tenant, to, d.Reason)
	if result == "dead" {
		h.o.Log.WarnContext(ctx, "gave up on sending a change to a webhook", "tenant", tenant, "endpoint", to.ID,
			"at", shownURL(to.URL), "status", status, "reason", d.Reason)
	}
	if err := h.store.Settle(ctx, tenant, name, becomes, d, pause); err != nil {
		h.o.Log.ErrorContext(ctx, "cannot store the result of a delivery to a webhook", "error", err)
	}
}

// record stores the endpoint's answer to an attempt. It logs the start of failures, and the recovery. reason is
// empty if the attempt did not fail.
func (h *Webhooks) record(ctx context.Context, tenant string, to Endpoint, reason string) {
	turn, err := h.store.Record(ctx, tenant, to.ID, reason)
	about := []any{"tenant", tenant, "endpoint", to.ID, "at", shownURL(to.URL)}
	switch {
	case err != nil:
		h.o.Log.ErrorContext(ctx, "cannot store the state of a webhook", append(about, "error", err)...)
	case turn == webhooks.Fails:
		h.o.Log.WarnContext(ctx, "a webhook has begun to fail", append(about, "reason", reason)...)
	case turn == webhooks.Recovers:
		h.o.Log.WarnContext(ctx, "a webhook has recovered", about...)
	}
}

// spread is a pause that others do not have, too.
func spread(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (1 - jitter/2 + jitter*rand.Float64())) //nolint:gosec // no secret
}

// reasonOf returns the reason of a failed attempt, without the endpoint's answer. It is empty if the attempt did
// not fail.
func reasonOf(status int, err error) string {
	var timeout interface{ Timeout() bool }
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errPrivate):
		return errPrivate.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "it does not answer in time"
	case errors.As(err, &name):
		return "its name leads to no address"
	case errors.As(err, &certificate):
		return "its certificate is not valid"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refuses the connection"
	case err != nil:
		return "it cannot be reached"
	case status/100 == 2:
		return ""
	}
	return "it answers " + strconv.Itoa(status)
}

// message is the message to endpoints.
type message struct {
	Type      changeevent.Type `json:"type"`
	Timestamp time.Time        `json:"timestamp"`
	Data      json.RawMessage  `json:"data"`
}

// post makes a request. wait is the delay that the endpoint requests.
func (h *Webhooks) post(
	ctx context.Context, to Endpoint, d webhooks.Delivery,
) (status int, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, h.o.Attempt)
	defer cancel()
	body, err := json.Marshal(message{d.Type, d.Time, d.Data})
	if err != nil {
		return 0, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	now := time.Now()
	signature, err := sign(to, d.Event, now, body)
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "mneme/"+cmp.Or(runner.Version(), "0"))
	req.Header.Set(standardwebhooks.HeaderWebhookID, d.Event)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	res, err := h.client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that the connection can be used again; the body is dropped
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		wait = time.Duration(min(seconds, int(maxRetryAfter.Seconds()))) * time.Second
	}
	return res.StatusCode, wait, nil
}

// sign signs with the secret, and with the one before while it is good.
func sign(to Endpoint, id string, now time.Time, body []byte) (string, error) {
	secrets := []string{to.Secret}
	if to.Previous != "" && now.Before(to.PreviousUntil) {
		secrets = append(secrets, to.Previous)
	}
	var out []string
	for _, s := range secrets {
		signer, err := standardwebhooks.NewWebhook(s)
		if err != nil {
			return "", errors.New("webhooks: cannot read a secret")
		}
		signature, err := signer.Sign(id, now, body)
		if err != nil {
			return "", errors.New("webhooks: cannot sign a delivery")
		}
		out = append(out, signature)
	}
	return strings.Join(out, " "), nil
}
