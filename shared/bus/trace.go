package bus

import (
	"context"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Trace makes one span for each delivery of a batch. It is a child of the last record's context, and links records
// of other traces. It carries no keys and payloads.
func Trace(ins *Instruments, group string) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, batch []Message) error {
			parent, links := ins.origins(ctx, batch)
			last := batch[len(batch)-1]
			attrs := append(messagingAttrs("process", last.Topic), semconv.MessagingOperationTypeProcess,
				semconv.MessagingConsumerGroupName(group),
				semconv.MessagingDestinationPartitionID(strconv.Itoa(last.Partition)),
				semconv.MessagingKafkaOffset(int(last.Offset)))
			if len(batch) > 1 {
				attrs = append(attrs, semconv.MessagingBatchMessageCount(len(batch)))
			}
			ctx, span := ins.tracer.Start(parent, "process "+last.Topic,
				trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(links...), trace.WithAttributes(attrs...))
			defer span.End()
			err := next(ctx, batch)
			recordError(span, err)
			return err
		}
	}
}

// origins returns the context of the batch's last record, and links to the records of other traces.
func (ins *Instruments) origins(ctx context.Context, batch []Message) (context.Context, []trace.Link) {
	extract := func(m Message) context.Context {
		return ins.propagator.Extract(ctx, HeaderCarrier{Headers: &m.Headers})
	}
	parent := extract(batch[len(batch)-1])
	own := trace.SpanContextFromContext(parent).TraceID()
	var links []trace.Link
	for _, m := range batch[:len(batch)-1] {
		sc := trace.SpanContextFromContext(extract(m))
		if sc.IsValid() && sc.TraceID() != own {
			links = append(links, trace.Link{SpanContext: sc})
		}
	}
	return parent, links
}

func messagingAttrs(operation, topic string) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemKafka,
		semconv.MessagingOperationName(operation),
		semconv.MessagingDestinationName(topic),
	}
}

// recordError marks the span with only the kind of error. Error texts may quote their input, and no user text
// belongs on a span.
func recordError(span trace.Span, err error) {
	if err == nil {
		return
	}
	span.SetAttributes(semconv.ErrorType(err))
	span.SetStatus(codes.Error, "")
}

// TracedPublisher surrounds a publisher. Each record gets a span, and its headers carry the context. A record with
// a context, published outside any span, continues its trace. So a replayed record stays in its trace. A publisher
// that is traced already is returned unchanged.
func TracedPublisher(pub Publisher, ins *Instruments) Publisher {
	if traced, ok := pub.(*tracedPublisher); ok {
		return traced
	}
	return &tracedPublisher{Publisher: pub, ins: ins}
}

type tracedPublisher struct {
	Publisher
	ins *Instruments
}

// Publish does not change the caller's messages.
func (p *tracedPublisher) Publish(ctx context.Context, msgs ...Message) error {
	traced := slices.Clone(msgs)
	spans := make([]trace.Span, len(traced))
	for i := range traced {
		traced[i].Headers, spans[i] = p.start(ctx, traced[i])
	}
	err := p.Publisher.Publish(ctx, traced...)
	for _, span := range spans {
		recordError(span, err)
		span.End()
	}
	return err
}

func (p *tracedPublisher) start(ctx context.Context, m Message) ([]Header, trace.Span) {
	headers := slices.Clone(m.Headers)
	carrier := HeaderCarrier{Headers: &headers}
	carried := p.ins.propagator.Extract(ctx, carrier)
	if trace.SpanContextFromContext(carried).TraceID() != trace.SpanContextFromContext(ctx).TraceID() {
		ctx = carried
	}
	attrs := append(messagingAttrs("send", m.Topic), semconv.MessagingOperationTypeSend)
	ctx, span := p.ins.tracer.Start(ctx, "send "+m.Topic,
		trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attrs...))
	p.ins.propagator.Inject(ctx, carrier)
	return headers, span
}

// HeaderCarrier lets a propagator read and write the headers of a record. Names are compared exactly. Of repeated
// headers the last one counts, as in the Java client.
type HeaderCarrier struct {
	// Headers is the list that Set changes.
	Headers *[]Header
}

// Get returns the value of a header, or "".
func (c HeaderCarrier) Get(key string) string {
	for _, h := range slices.Backward(*c.Headers) {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// Set replaces every header of that name by one.
func (c HeaderCarrier) Set(key, value string) {
	kept := slices.DeleteFunc(slices.Clone(*c.Headers), func(h Header) bool { return h.Key == key })
	*c.Headers = append(kept, Header{Key: key, Value: []byte(value)})
}

// Keys returns the names, each once, in the order of their first appearance.
func (c HeaderCarrier) Keys() []string {
	var keys []string
	seen := make(map[string]struct{}, len(*c.Headers))
	for _, h := range *c.Headers {
		if _, ok := seen[h.Key]; !ok {
			seen[h.Key] = struct{}{}
			keys = append(keys, h.Key)
		}
	}
	return keys
}
