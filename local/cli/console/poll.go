package console

import (
	"context"
	"time"

	"connectrpc.com/connect"
)

// IgnoreUnavailable drops an error that a retry may resolve.
func IgnoreUnavailable(ctx context.Context, err error) error {
	if ctx.Err() == nil && connect.CodeOf(err) == connect.CodeUnavailable {
		return nil
	}
	return err
}

// Poll calls ask until it is done, an error occurs, or ctx ends.
func Poll(ctx context.Context, every time.Duration, ask func() (done bool, err error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		done, err := ask()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
