// Package webhook sends memory changes to programs of tenants, at URLs of their choice, after the Standard Webhooks
// specification. A message is a signed POST of JSON with type, timestamp and data. Its id is the same for every
// attempt. Messages contain ids, and no texts.
//
// Handle reads changes from Kafka and stores a delivery for each endpoint in Redis. Only then does it acknowledge
// the change. Run works in any number of replicas. It leases due deliveries for a while, and makes an attempt. A
// failed delivery is tried again, later each time. After the last attempt, it is a dead letter of its endpoint. A
// program may receive a change twice, and changes may come in another order than they happened.
package webhook

import (
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
)

// Defaults of Options.
const (
	DefaultPoll    = time.Second
	DefaultAttempt = 10 * time.Second
)

const (
	// atOnce is how many attempts a replica makes at the same time, and perEndpoint to one endpoint.
	atOnce, perEndpoint = 64, 4
	// idleConnections is how long a connection is kept for another attempt.
	idleConnections = 30 * time.Second
)

// backoff is how long after each failed attempt the next is made, as the specification proposes.
var backoff = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// Options are the settings of webhooks. Zero values have defaults.
type Options struct {
	// Poll is how often due deliveries are looked for.
	Poll time.Duration
	// Attempt is how long an endpoint may take to answer.
	Attempt time.Duration
	// Backoff holds the delay after each failed attempt. After the last of them, a delivery is dead.
	Backoff []time.Duration
	// Private allows addresses that are not public, and HTTP without TLS.
	Private bool
	// Meter makes the metrics; nil makes none.
	Meter metric.Meter
	// Log receives errors that callers do not see. nil means no log.
	Log *slog.Logger
}

func (o Options) filled() Options {
	o.Poll, o.Attempt = redisstore.Or(o.Poll, DefaultPoll), redisstore.Or(o.Attempt, DefaultAttempt)
	if o.Backoff == nil {
		o.Backoff = backoff
	}
	if o.Meter == nil {
		o.Meter = telemetry.Discard().Meter.Meter("")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Webhooks manages endpoints of tenants, and delivers to them. It is safe for concurrent use. Run has to run somewhere.
type Webhooks struct {
	store    *webhooks.Store
	o        Options
	client   *http.Client
	attempts metric.Int64Counter
	slots    *slots
}

// New returns webhooks over their store. Its error means that a metric cannot be made.
func New(store *webhooks.Store, o Options) (*Webhooks, error) {
	o = o.filled()
	attempts, err := telemetry.MetricWebhooks.Counter(o.Meter)
	if err != nil {
		return nil, err
	}
	return &Webhooks{store: store, o: o, client: clientOf(o), attempts: attempts, slots: newSlots()}, nil
}
