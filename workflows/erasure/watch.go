package erasure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Metrics of the running erasures of all tenants, by AttrStore. An erasure counts for each store that still holds
// something.
const (
	MetricWaiting = "mneme.erasure.waiting"
	MetricAge     = "mneme.erasure.waiting.age"
)

// AttrStore is the store that an erasure waits for; storeScan where it waits for its next count.
const AttrStore = attribute.Key("mneme.store")

const storeScan = "scan"

// watchInterval is the pause between two looks at the running erasures; listTimeout bounds one.
const watchInterval, listTimeout = 30 * time.Second, 10 * time.Second

// Watch measures how many erasures wait, for which stores, and since when.
type Watch struct {
	erasures   Starter
	log        *slog.Logger
	waiting    metric.Int64ObservableGauge
	age        metric.Int64ObservableGauge
	registered metric.Registration
	seen       atomic.Pointer[map[string]waiting]
}

// waiting are the erasures that wait for a store.
type waiting struct {
	count  int64
	oldest time.Time
}

// NewWatch makes the instruments. They measure nothing before Run.
func NewWatch(meter metric.Meter, erasures Starter, log *slog.Logger) (*Watch, error) {
	w := &Watch{erasures: erasures, log: log}
	var errs [3]error
	w.waiting, errs[0] = meter.Int64ObservableGauge(MetricWaiting, metric.WithUnit("{erasure}"),
		metric.WithDescription("Running erasures, by the store that still holds something."))
	w.age, errs[1] = meter.Int64ObservableGauge(MetricAge, metric.WithUnit("s"),
		metric.WithDescription("Time since the oldest of them began, by the store that still holds something."))
	w.registered, errs[2] = meter.RegisterCallback(w.observe, w.waiting, w.age)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("make metrics of erasures: %w", err)
	}
	return w, nil
}

// Run looks at the running erasures until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return w.registered.Unregister()
		case <-tick.C:
		}
	}
}

// look replaces the previous values. There is no measurement while the server is not available.
func (w *Watch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	seen := map[string]waiting{}
	err := w.erasures.each(ctx, "", func(e Status) {
		for _, store := range e.stores() {
			at := seen[store]
			if at.count++; at.oldest.IsZero() || e.StartedAt.Before(at.oldest) {
				at.oldest = e.StartedAt
			}
			seen[store] = at
		}
	})
	if err != nil {
		w.seen.Store(nil)
		if !errors.Is(err, context.Canceled) {
			w.log.WarnContext(ctx, "cannot list running erasures", "error", err)
		}
		return
	}
	w.seen.Store(&seen)
}

// stores are the stores that a running erasure waits for.
func (s Status) stores() []string {
	if len(s.Progress.Remaining) == 0 {
		return []string{storeScan}
	}
	names := make([]string, len(s.Progress.Remaining))
	for i, r := range s.Progress.Remaining {
		names[i] = r.Store
	}
	return names
}

func (w *Watch) observe(_ context.Context, o metric.Observer) error {
	seen := w.seen.Load()
	if seen == nil {
		return nil
	}
	for store, at := range *seen {
		by := metric.WithAttributes(AttrStore.String(store))
		o.ObserveInt64(w.waiting, at.count, by)
		o.ObserveInt64(w.age, int64(time.Since(at.oldest).Seconds()), by)
	}
	return nil
}
