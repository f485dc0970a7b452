package distributed

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme-memory/mneme/lab/checkpoint"
	"github.com/mneme-memory/mneme/shared/fault"
)

// Types of failures that Temporal does not retry.
const (
	errorTerminal = "terminal"
	errorPanic    = "PanicError" // the name in the SDK
)

// heartbeatEvery is well below heartbeatTimeout, after which another worker takes over.
const heartbeatEvery, heartbeatTimeout = 2 * time.Second, 10 * time.Second

// Activities are the steps of a training. Each may run again at any time, even in parallel with another run: it
// writes the same bytes.
type Activities struct {
	Trainer Trainer
	Store   checkpoint.Store
}

// Begin stores the options and the first state, and returns the first people.
func (a *Activities) Begin(ctx context.Context, in BeginInput) ([]int, error) {
	state, err := a.Trainer.Start(in.Options)
	if err != nil {
		return nil, classify(err)
	}
	if err := a.Store.Put(ctx, in.Run, keyOptions, in.Options); err != nil {
		return nil, classify(err)
	}
	if err := a.Store.Put(ctx, in.Run, keyState(0), state); err != nil {
		return nil, classify(err)
	}
	people, err := a.Trainer.Next(in.Options, state)
	return people, classify(err)
}

// Roll makes and stores the rollouts of the step's one person.
func (a *Activities) Roll(ctx context.Context, s Step) error {
	return attended(ctx, func(ctx context.Context) error {
		key := keyRolled(s.Update, s.People[0])
		if _, err := a.Store.Get(ctx, s.Run, key); !errors.Is(err, checkpoint.ErrAbsent) {
			return err // an earlier worker made it and could not report it
		}
		options, state, err := a.read(ctx, s)
		if err != nil {
			return err
		}
		rolled, err := a.Trainer.Roll(ctx, options, state, s.People[0])
		if err != nil {
			return err
		}
		return a.Store.Put(ctx, s.Run, key, rolled)
	})
}

// Learn makes the step's update, stores the state after it, and returns the next people.
func (a *Activities) Learn(ctx context.Context, s Step) (people []int, err error) {
	err = attended(ctx, func(ctx context.Context) error {
		options, state, err := a.read(ctx, s)
		if err != nil {
			return err
		}
		next, err := a.Store.Get(ctx, s.Run, keyState(s.Update+1))
		if errors.Is(err, checkpoint.ErrAbsent) {
			next, err = a.learn(ctx, s, options, state)
		}
		if err == nil {
			people, err = a.Trainer.Next(options, next)
		}
		return err
	})
	return people, err
}

func (a *Activities) learn(ctx context.Context, s Step, options, state []byte) (next []byte, err error) {
	rolled := func(yield func([]byte, error) bool) {
		for _, person := range s.People {
			if !yield(a.get(ctx, s.Run, keyRolled(s.Update, person))) {
				return
			}
		}
	}
	if next, err = a.Trainer.Learn(options, state, rolled); err != nil {
		return nil, err
	}
	return next, a.Store.Put(ctx, s.Run, keyState(s.Update+1), next)
}

// Forget deletes the inputs of a step. No step needs them once the step is in the history.
func (a *Activities) Forget(ctx context.Context, s Step) error {
	keys := []string{keyState(s.Update)}
	for _, person := range s.People {
		keys = append(keys, keyRolled(s.Update, person))
	}
	return a.Store.Delete(ctx, s.Run, keys...)
}

// ForgetRun deletes all checkpoints of a run.
func (a *Activities) ForgetRun(ctx context.Context, run string) error {
	return a.Store.DeleteRun(ctx, run)
}

// read returns the options and the state before a step.
func (a *Activities) read(ctx context.Context, s Step) (options, state []byte, err error) {
	if options, err = a.get(ctx, s.Run, keyOptions); err != nil {
		return nil, nil, err
	}
	state, err = a.get(ctx, s.Run, keyState(s.Update))
	return options, state, err
}

// get returns a required checkpoint.
func (a *Activities) get(ctx context.Context, run, key string) ([]byte, error) {
	body, err := a.Store.Get(ctx, run, key)
	if errors.Is(err, checkpoint.ErrAbsent) {
		err = fault.Terminal(key, "is no longer in the store of checkpoints: train anew, with a longer time to live or "+
			"without eviction")
	}
	return body, err
}

// errStopping is the cause of an attempt that ends with its worker. Another worker retries it.
var errStopping = errors.New("the worker stops")

// attended runs do while it sends heartbeats to the server. The server or the end of the worker cancels it.
func attended(ctx context.Context, do func(context.Context) error) error {
	work, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(heartbeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-work.Done():
				return
			case <-activity.GetWorkerStopChannel(ctx):
				cancel(errStopping)
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	defer func() { cancel(nil); <-ended }()
	err := do(work)
	if err != nil && errors.Is(context.Cause(work), errStopping) {
		return errStopping
	}
	return classify(err)
}

// classify marks errors that Temporal must not retry.
func classify(err error) error {
	if fault.IsTerminal(err) {
		return temporal.NewNonRetryableApplicationError(err.Error(), errorTerminal, err)
	}
	return err
}
