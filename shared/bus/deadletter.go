package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
)

// maxReason bounds the reason of a dead letter, in bytes. Errors may nest without end.
const maxReason = 2 << 10

// deadLetterNamespace separates the identifiers of dead letters from all other identifiers.
var deadLetterNamespace = uuid.MustParse("6d6e656d-6500-5000-8000-6c6574746572")

// DeadLetterConfig sets the destination of records that can never be processed.
type DeadLetterConfig struct {
	// Topic receives the dead letters. Its records may be larger than the originals by a few kilobytes.
	Topic string
	// Handler is the name of the handler.
	Handler string
	// Now returns the current time. nil is time.Now.
	Now func() time.Time
}

// DeadLetterID returns the identifier of the dead letter of a record: a UUID version 5. It is equal for equal
// records. So a dead letter published twice is one.
func DeadLetterID(topic string, partition int, offset int64) string {
	name := strconv.Itoa(len(topic)) + ":" + topic + "/" + strconv.Itoa(partition) + "/" + strconv.FormatInt(offset, 10)
	return uuid.NewSHA1(deadLetterNamespace, []byte(name)).String()
}

// DeadLetter publishes a record with a terminal error to the dead letters and counts the record as done. The dead
// letter has the key of the record. When the publication fails, the record stays undone with a retryable error. A
// terminal error about several records passes through. Isolate, outside DeadLetter, finds the record at fault.
func DeadLetter(cfg DeadLetterConfig, pub Publisher, ins *Instruments) Middleware {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return func(next Handler) Handler {
		return func(ctx context.Context, batch []Message) error {
			err := next(ctx, batch)
			if err == nil || len(batch) > 1 || !fault.IsTerminal(err) {
				return err
			}
			return cfg.publish(ctx, batch[0], err, pub, ins)
		}
	}
}

func (cfg DeadLetterConfig) publish(
	ctx context.Context, m Message, cause error, pub Publisher, ins *Instruments,
) error {
	dead := cfg.record(m, cause)
	value, err := proto.Marshal(dead)
	if err == nil {
		err = pub.Publish(ctx, Message{Topic: cfg.Topic, Key: m.Key, Value: value})
	}
	if err != nil {
		// The error is not wrapped. Even a terminal error of the publisher must not drop the record.
		return fmt.Errorf("publish dead letter %s: %v", dead.Id, err)
	}
	ins.dead.Add(ctx, 1, metric.WithAttributes(semconv.MessagingDestinationName(m.Topic), attrHandler.String(cfg.Handler)))
	ins.log.WarnContext(ctx, "moved the record to the dead letters", batchAttrs([]Message{m},
		slog.String("dead_letter", dead.Id), slog.String("handler", cfg.Handler), slog.String("field", dead.Field),
		slog.Int("attempts", int(dead.Attempts)))...)
	return nil
}

func (cfg DeadLetterConfig) record(m Message, cause error) *mnemev1.DeadLetter {
	attempts := 1
	if tried, ok := errors.AsType[*triedError](cause); ok {
		attempts = tried.attempts
	}
	dead := &mnemev1.DeadLetter{
		SchemaVersion: 1, Id: DeadLetterID(m.Topic, m.Partition, m.Offset),
		Reason: text(cause.Error(), maxReason), Field: text(fault.Field(cause), maxReason),
		Handler: cfg.Handler, Topic: m.Topic, Partition: int32(m.Partition), Offset: m.Offset, Key: m.Key,
		Value: m.Value, Time: timestamppb.New(cfg.Now()), Attempts: int32(attempts),
	}
	for _, h := range m.Headers {
		dead.Headers = append(dead.Headers, &mnemev1.Header{Key: text(h.Key, len(h.Key)), Value: h.Value})
	}
	return dead
}

// text cuts s to a valid text field of the contract.
func text(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ToValidUTF8(s, "?")
}

// isolatedKey marks the context of records that were tried together before.
type isolatedKey struct{}

// Isolate delivers a batch again one record at a time when it failed for good. So only the record at fault goes to
// the dead letters. It belongs outside DeadLetter.
func Isolate() Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, batch []Message) error {
			err := next(ctx, batch)
			if len(batch) == 1 || !fault.IsTerminal(err) {
				return err
			}
			ctx = context.WithValue(ctx, isolatedKey{}, true)
			for i := range batch {
				if err := next(ctx, batch[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		}
	}
}
