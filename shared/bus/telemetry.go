package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// Scope is the instrumentation scope of the bus's spans and metrics.
const Scope = "github.com/mneme-memory/mneme/shared/bus"

// Names of the metrics. Their attributes are the topic, the partition for the lag, and the consumer group or the
// handler.
const (
	// MetricLag is a gauge of records between a partition's end and the finished prefix.
	MetricLag = "mneme.bus.consumer.lag"
	// MetricProcessed counts finished records, dead-lettered ones included.
	MetricProcessed = "mneme.bus.messages.processed"
	// MetricRetried counts failed attempts on batches that are repeated.
	MetricRetried = "mneme.bus.batches.retried"
	// MetricDeadLettered counts records that went to the dead letters.
	MetricDeadLettered = "mneme.bus.messages.dead_lettered"
	// MetricDuration is a histogram of the time of a batch's delivery, in seconds.
	MetricDuration = "mneme.bus.process.duration"
	// MetricAge is a histogram of the time from the publication of a batch's oldest record to the end of the batch,
	// in seconds.
	MetricAge = "mneme.bus.message.age"
)

const (
	attrHandler = attribute.Key("mneme.bus.handler")
	attrOutcome = attribute.Key("mneme.bus.outcome")
)

// Telemetry sets the destinations of the bus's reports. Zero fields report nowhere, except the propagator: its
// default is the W3C trace context.
type Telemetry struct {
	// Tracer makes the spans.
	Tracer trace.TracerProvider
	// Meter makes the metrics.
	Meter metric.MeterProvider
	// Log receives events that no caller gets as an error.
	Log *slog.Logger
	// Propagator carries traces in record headers.
	Propagator propagation.TextMapPropagator
}

// Instruments are the tracer, the logger and the metrics that a process's consumers, publishers and middlewares
// share.
type Instruments struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	log        *slog.Logger
	meter      metric.Meter
	lagGauge   metric.Int64ObservableGauge
	done       metric.Int64Counter
	retried    metric.Int64Counter
	dead       metric.Int64Counter
	duration   metric.Float64Histogram
	age        metric.Float64Histogram
}

// NewInstruments makes the instruments of a telemetry.
func NewInstruments(t Telemetry) (*Instruments, error) {
	t.Tracer = cmp.Or[trace.TracerProvider](t.Tracer, tracenoop.NewTracerProvider())
	t.Meter = cmp.Or[metric.MeterProvider](t.Meter, metricnoop.NewMeterProvider())
	t.Log = cmp.Or(t.Log, slog.New(slog.DiscardHandler))
	t.Propagator = cmp.Or[propagation.TextMapPropagator](t.Propagator, propagation.TraceContext{})
	m := t.Meter.Meter(Scope)
	ins := &Instruments{tracer: t.Tracer.Tracer(Scope), propagator: t.Propagator, log: t.Log, meter: m}
	var errs [6]error
	ins.lagGauge, errs[0] = m.Int64ObservableGauge(MetricLag, metric.WithUnit("{message}"),
		metric.WithDescription("Records between the finished prefix and the end of a partition."))
	ins.done, errs[1] = m.Int64Counter(MetricProcessed, metric.WithUnit("{message}"),
		metric.WithDescription("Records whose handling is finished."))
	ins.retried, errs[2] = m.Int64Counter(MetricRetried, metric.WithUnit("{attempt}"),
		metric.WithDescription("Attempts that failed and are made again."))
	ins.dead, errs[3] = m.Int64Counter(MetricDeadLettered, metric.WithUnit("{message}"),
		metric.WithDescription("Records that went to the dead letters."))
	ins.duration, errs[4] = m.Float64Histogram(MetricDuration, metric.WithUnit("s"),
		metric.WithDescription("Time that a delivery of a batch took, its retries included."))
	ins.age, errs[5] = m.Float64Histogram(MetricAge, metric.WithUnit("s"),
		metric.WithDescription("Time from when the oldest record of a batch was published until the batch was finished."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("make bus metrics: %w", err)
	}
	return ins, nil
}

// observeLag reports the table until the returned function is called.
func (ins *Instruments) observeLag(t *lagTable) (func(), error) {
	reg, err := ins.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		t.each(func(p Partition, lag int64) {
			o.ObserveInt64(ins.lagGauge, lag, metric.WithAttributes(
				semconv.MessagingConsumerGroupName(t.group),
				semconv.MessagingDestinationName(p.Topic),
				semconv.MessagingDestinationPartitionID(fmt.Sprint(p.ID)),
			))
		})
		return nil
	}, ins.lagGauge)
	if err != nil {
		return nil, fmt.Errorf("register lag metric: %w", err)
	}
	return func() { _ = reg.Unregister() }, nil
}

// outcomes are the attributes of a topic's deliveries, made once. Making them for every batch took an eighth of the
// consumer's time.
type outcomes struct {
	count, done, unfinished metric.MeasurementOption
}

func newOutcomes(group, topic string) outcomes {
	base := attribute.NewSet(semconv.MessagingConsumerGroupName(group), semconv.MessagingDestinationName(topic))
	with := func(outcome string) metric.MeasurementOption {
		return metric.WithAttributes(append(base.ToSlice(), attrOutcome.String(outcome))...)
	}
	return outcomes{count: metric.WithAttributeSet(base), done: with("done"), unfinished: with("unfinished")}
}

func (ins *Instruments) processed(ctx context.Context, o outcomes, batch []Message, took time.Duration, err error) {
	if err != nil {
		ins.duration.Record(ctx, took.Seconds(), o.unfinished)
		return
	}
	ins.done.Add(ctx, int64(len(batch)), o.count)
	ins.duration.Record(ctx, took.Seconds(), o.done)
	if published := batch[0].Time; !published.IsZero() { // a batch is in order
		ins.age.Record(ctx, max(0, time.Since(published).Seconds()), o.count)
	}
}

// batchAttrs locates a batch in a log line.
func batchAttrs(batch []Message, more ...any) []any {
	first := batch[0]
	return append([]any{
		slog.String("topic", first.Topic), slog.Int("partition", first.Partition),
		slog.Int64("offset", first.Offset), slog.Int("messages", len(batch)),
	}, more...)
}

// lagTable holds the ends and the finished prefixes of a consumer's current partitions. A partition that moves to
// another member leaves the table. So two members never report it.
type lagTable struct {
	group string
	mu    sync.Mutex
	parts map[Partition]position
}

type position struct {
	end, next    int64
	known, ended bool
}

func newLagTable(group string) *lagTable {
	return &lagTable{group: group, parts: make(map[Partition]position)}
}

func (t *lagTable) update(p Partition, change func(*position)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pos := t.parts[p]
	change(&pos)
	t.parts[p] = pos
}

func (t *lagTable) end(p Partition, end int64) {
	t.update(p, func(pos *position) { pos.end, pos.ended = max(pos.end, end), true })
}

// start records the offset of the first fetch. Later fetches do not move it.
func (t *lagTable) start(p Partition, offset int64) {
	t.update(p, func(pos *position) {
		if !pos.known {
			pos.next, pos.known = offset, true
		}
	})
}

func (t *lagTable) next(p Partition, next int64) {
	t.update(p, func(pos *position) { pos.next, pos.known = max(pos.next, next), true })
}

func (t *lagTable) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.parts)
}

// each calls f with the lag of every partition with a known lag.
func (t *lagTable) each(f func(p Partition, lag int64)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, pos := range t.parts {
		if pos.known && pos.ended {
			f(p, max(0, pos.end-pos.next))
		}
	}
}

// reminder is how often a lasting outage is logged again.
const reminder = 30 * time.Second

// outage logs the beginning and the end of a failure during retries, instead of every attempt. A broker that is
// unavailable for a minute must not fill the log. The zero value is ready.
type outage struct {
	mu     sync.Mutex
	since  time.Time
	logged time.Time
}

func (o *outage) failed(ctx context.Context, log *slog.Logger, what string, attrs ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.since.IsZero() {
		o.since = now
	}
	if now.Sub(o.logged) < reminder {
		return
	}
	o.logged = now
	log.WarnContext(ctx, what+", retrying", attrs...)
}

func (o *outage) repaired(ctx context.Context, log *slog.Logger, what string, attrs ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return
	}
	log.InfoContext(ctx, what+", recovered", append(attrs, slog.Duration("after", time.Since(o.since)))...)
	o.since, o.logged = time.Time{}, time.Time{}
}
