package consolidation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// heartbeatEvery is well below the activities' heartbeat timeout.
const heartbeatEvery = 2 * time.Second

// stopTimeout is how long running activities may take to finish when a worker stops. After that, another worker
// repeats them.
const stopTimeout = 5 * time.Second

// deadlockAfter is how long a workflow may compute before the SDK reports a deadlock. It equals the maximum duration
// of a workflow task. With the SDK's limit of one second, a process with little CPU time fails valid tasks. Every
// such failure leaks a goroutine.
const deadlockAfter = 10 * time.Second

// ClientOptions adds the client options of this workflow. Headers carry the trace. Payloads are compressed, because
// batches of turns and vectors are repetitive. The logger reports failures that no retry repairs as warnings.
func ClientOptions(o client.Options) client.Options {
	o.ContextPropagators = append(o.ContextPropagators, TracePropagator{})
	o.DataConverter = DataConverter()
	if o.Logger != nil {
		o.Logger = logger{o.Logger}
	}
	return o
}

// Roles are the task queues that a process serves.
type Roles struct {
	Workflow, Model, Store bool
	// ModelParallel and StoreParallel limit the simultaneous activities of each sort. Zero means 16 and 64.
	ModelParallel, StoreParallel int
}

// Workers makes one worker per role. The caller starts and stops them.
func Workers(c client.Client, r Roles, a *Activities, o *Observer) []worker.Worker {
	base := worker.Options{
		Interceptors: []interceptor.WorkerInterceptor{o}, WorkerStopTimeout: stopTimeout,
		MaxHeartbeatThrottleInterval: heartbeatEvery, DeadlockDetectionTimeout: deadlockAfter,
	}
	var out []worker.Worker
	if r.Workflow {
		o := base
		o.DisableRegistrationAliasing = true
		w := worker.New(c, QueueWorkflow, o)
		Register(w)
		out = append(out, w)
	}
	if r.Model {
		o := base
		o.DisableWorkflowWorker = true
		o.MaxConcurrentActivityExecutionSize = orDefault(r.ModelParallel, 16)
		w := worker.New(c, QueueModel, o)
		w.RegisterActivity(a.Extract)
		w.RegisterActivity(a.Decide)
		w.RegisterActivity(a.Edit)
		out = append(out, w)
	}
	if r.Store {
		o := base
		o.DisableWorkflowWorker = true
		o.MaxConcurrentActivityExecutionSize = orDefault(r.StoreParallel, 64)
		w := worker.New(c, QueueStore, o)
		w.RegisterActivity(a.Relate)
		w.RegisterActivity(a.Search)
		w.RegisterActivity(a.Apply)
		w.RegisterActivity(a.ExpireTalk)
		w.RegisterActivity(a.Retract)
		w.RegisterActivity(a.DeadLetter)
		w.RegisterActivity(a.Erase)
		out = append(out, w)
	}
	return out
}

// Register registers the workflow with a worker, a replayer or a test environment.
func Register(r interface {
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
}) {
	r.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: WorkflowName})
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// compressFrom is the size in bytes from which a payload is compressed. A compressor costs a megabyte of memory and a
// quarter of a millisecond, even for a short payload. Most signals and results are short.
const compressFrom = 16 << 10

// DataConverter encodes as JSON. It compresses large payloads if that makes them smaller.
func DataConverter() converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(),
		compressLarge{converter.NewZlibCodec(converter.ZlibCodecOptions{})})
}

// compressLarge leaves small payloads as they are. It decodes both forms.
type compressLarge struct{ converter.PayloadCodec }

// Encode implements converter.PayloadCodec.
func (c compressLarge) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if len(p.GetData()) < compressFrom {
			out[i] = p
			continue
		}
		encoded, err := c.PayloadCodec.Encode([]*commonpb.Payload{p})
		if err != nil {
			return nil, err
		}
		out[i] = encoded[0]
	}
	return out, nil
}

// maxPayloadBytes limits the arguments and results of a step, as JSON. Temporal accepts 2 MB. A larger payload would
// take a former too long, however small it became by compression.
const maxPayloadBytes = 1900 << 10

// fits refuses a value that is too large for a payload, so that its batch is split.
func fits(what string, value any) error {
	n, err := size(value)
	if err != nil {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("%s cannot be encoded: %v", what, err), errorTerminal,
			err)
	}
	if n > maxPayloadBytes {
		return tooLarge("%s has %d bytes, more than the %d of one step", what, n, maxPayloadBytes)
	}
	return nil
}

// tooLarge is the error that splits a batch into smaller parts.
func tooLarge(format string, args ...any) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(format, args...), errorTooLarge, nil)
}

// size returns the size of a value as JSON, in bytes. Escaped characters make it up to six times the size of the
// text. Encoding gives the same bytes each time, but the check of determinism cannot see that.
//
//workflowcheck:ignore
func size(value any) (int, error) {
	data, err := json.Marshal(value)
	return len(data), err
}

// Types of activity failures. Temporal does not retry them, except errorLater: such an activity comes again when its
// time comes.
const (
	errorTerminal  = "terminal"
	errorMalformed = "malformed"
	errorTooLarge  = "too_large"
	errorTooLong   = "too_long" // or a refusal
	errorBudget    = "budget"
	errorLater     = "later"
	errorPanic     = "PanicError" // the SDK's name
)

// classify sets how Temporal retries an error. A terminal error sends the turns to the dead letters. If a model gives
// no answer about so much text, the workflow asks about parts. The workflow retries another unusable answer a few
// times, and Temporal retries all other errors for maxDuration.
func classify(err error) error {
	var later *fault.LaterError
	switch {
	case errors.As(err, &later):
		return temporal.NewApplicationErrorWithOptions(err.Error(), errorLater, temporal.ApplicationErrorOptions{
			Cause: err, NextRetryDelay: later.After,
		})
	case errors.Is(err, fault.ErrBudget):
		return temporal.NewNonRetryableApplicationError(err.Error(), errorBudget, err)
	case errors.Is(err, fault.ErrAskLess):
		return temporal.NewNonRetryableApplicationError(err.Error(), errorTooLong, err)
	case errors.Is(err, fault.ErrUnusableAnswer):
		return temporal.NewApplicationErrorWithCause(err.Error(), errorMalformed, err)
	case fault.IsTerminal(err), errors.Is(err, bank.ErrEmbeddingMismatch):
		return temporal.NewNonRetryableApplicationError(err.Error(), errorTerminal, err)
	default:
		return err
	}
}

// logger lowers the level of failures that no retry repairs to warnings, because callers or a dead letter report them.
// It logs an activity that only waits for its time as information. The SDK logs all failed activities as errors. The
// logger replaces the user's id in workflow ids.
type logger struct{ log.Logger }

// With implements log.WithLogger.
func (l logger) With(keyvals ...any) log.Logger {
	return logger{log.With(l.Logger, shownValues(keyvals)...)}
}

// Debug implements log.Logger.
func (l logger) Debug(msg string, keyvals ...any) { l.Logger.Debug(msg, shownValues(keyvals)...) }

// Info implements log.Logger.
func (l logger) Info(msg string, keyvals ...any) { l.Logger.Info(msg, shownValues(keyvals)...) }

// Warn implements log.Logger.
func (l logger) Warn(msg string, keyvals ...any) { l.Logger.Warn(msg, shownValues(keyvals)...) }

// Error implements log.Logger.
func (l logger) Error(msg string, keyvals ...any) {
	for _, v := range keyvals {
		err, ok := v.(error)
		if ok && errors.As(err, new(*fault.LaterError)) {
			l.Info(msg, keyvals...)
			return
		}
		if ok && (fault.IsTerminal(err) || errors.Is(err, fault.ErrBudget) || errors.Is(err, fault.ErrAskLess)) {
			l.Warn(msg, keyvals...)
			return
		}
	}
	l.Logger.Error(msg, shownValues(keyvals)...)
}

// shownValues returns the values of a log line, with workflow ids in the form of ShownID.
func shownValues(keyvals []any) []any {
	out := slices.Clone(keyvals)
	for i, v := range out {
		if id, ok := v.(string); ok {
			out[i] = ShownID(id)
		}
	}
	return out
}
