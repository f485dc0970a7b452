package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Why events may be missing.
const (
	gapRetention = "retention" // they are not kept any more
	gapTooMany   = "too_many"  // too many came since
	gapUnknown   = "unknown"   // the position is none of this stream; the topic, or the secret, may have been made anew
)

// Why streams end.
var (
	errSlow         = errors.New("slow_client")
	errUnauthorized = errors.New("unauthorized")
	errStopping     = errors.New("stopping")
	errUnavailable  = errors.New("unavailable")
)

// visit is an open stream, as the goroutine that serves it knows it.
type visit struct {
	*Server
	client    *client
	ids       seal
	principal access.Principal
	key       string
	w         http.ResponseWriter
	control   *http.ResponseController

	// next is the client's progress. told is the last progress that the client received.
	next, told position
	// gap is the first event for the client. It is empty for no gap.
	gap       string
	checked   time.Time // when the key was checked last
	confirmed time.Time // when it was good
}

// begin finds out where the client is.
func (v *visit) begin(ctx context.Context, since position) error {
	c := v.client
	if !c.ofTenant() {
		var err error
		if c.partition, err = v.p.Changes.PartitionOf(ctx, []byte(c.scope.Key())); err != nil {
			return fmt.Errorf("find the partition of a user: %w", err)
		}
	}
	v.checked = v.confirmed
	v.next = v.hub.here(c)
	if since == nil {
		return nil
	}
	if _, ok := since[c.partition]; len(since) == 0 || !c.ofTenant() && !ok {
		v.gap = gapUnknown
		return nil
	}
	return v.resume(ctx, since)
}

// resume sets the client back to where it was, as far as that is kept.
func (v *visit) resume(ctx context.Context, since position) error {
	most := int64(v.p.Replay / max(1, len(v.next)))
	for _, p := range slices.Sorted(maps.Keys(v.next)) {
		first, end, err := v.p.Changes.Bounds(ctx, p)
		if err != nil {
			return fmt.Errorf("find the kept changes: %w", err)
		}
		next := since[p] // 0 for a partition that the client does not know: a new one
		switch {
		case next > end:
			v.gap, next = gapUnknown, v.next[p]
		case next < first:
			v.gap, next = gapRetention, first
		}
		if end-next > most {
			v.gap, next = gapTooMany, end-most
		}
		v.next[p] = next
	}
	return nil
}

// run sends the events since the client's last visit, then new events. It returns an error only if it has sent no
// answer.
func (v *visit) run(r *http.Request) error {
	h := v.w.Header()
	describe(h)
	if r.ProtoMajor == 1 {
		h.Set("Connection", "close") // a client that does not read must not hold the connection when the stream has ended
	}
	v.w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer v.until(ctx, cancel)()
	err := v.stream(ctx)
	if cause := context.Cause(ctx); cause != nil && r.Context().Err() == nil {
		err = cause
	}
	for _, said := range []error{errSlow, errUnauthorized, errStopping, errUnavailable} {
		if errors.Is(err, said) && r.Context().Err() == nil {
			_ = v.write(frame("end", []byte(`{"reason":"`+said.Error()+`"}`))) // the client has gone
		}
	}
	if errors.Is(err, errUnavailable) {
		v.p.Log.WarnContext(ctx, "stream ends", "error", err)
	}
	return nil
}

// describe sets the headers of a stream.
func describe(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
}

// until ends the stream when the server ends. The returned function frees the resources.
func (v *visit) until(ctx context.Context, cancel context.CancelCauseFunc) func() {
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-v.p.Stopping:
		case <-v.hub.done:
		case <-ctx.Done():
		}
		cancel(errStopping)
	}()
	return func() { cancel(nil); <-over }
}

// stream returns the reason for the stream's end, or that the client has gone.
func (v *visit) stream(ctx context.Context) error {
	opening := []byte("retry: " + fmt.Sprint(v.p.Retry.Milliseconds()) + "\n")
	opening = append(opening, v.idLine()...)
	if err := v.write(append(opening, '\n')); err != nil {
		return err
	}
	if v.gap != "" {
		if err := v.write(append(v.idLine(), gapFrame(v.gap)...)); err != nil {
			return err
		}
	}
	if err := v.replay(ctx, v.hub.here(v.client)); err != nil {
		return err
	}
	joined := v.hub.join(v.client)
	defer v.hub.leave(v.client)
	if err := v.replay(ctx, joined); err != nil {
		return err
	}
	return v.live(ctx)
}

// replay sends the log's events up to a position.
func (v *visit) replay(ctx context.Context, to position) error {
	for _, p := range slices.Sorted(maps.Keys(to)) {
		for v.next[p] < to[p] {
			msgs, next, err := v.read(ctx, p)
			if err != nil {
				return fmt.Errorf("%w: %w", errUnavailable, err)
			}
			var out []byte
			for _, m := range msgs {
				if m.Offset >= to[p] {
					break
				}
				v.next[p] = m.Offset + 1
				if it, ok := v.hub.itemOf(ctx, m); ok && v.concerns(it) {
					out = append(append(out, v.idLine()...), it.frame...)
				}
			}
			v.next[p] = max(v.next[p], min(next, to[p]))
			if err := v.confirm(ctx); err != nil {
				return err
			}
			if err := v.write(out); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads on in a partition for the client. Few do at the same time.
func (v *visit) read(ctx context.Context, partition int) ([]bus.Message, int64, error) {
	select {
	case v.replays <- struct{}{}:
		defer func() { <-v.replays }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	msgs, next, err := v.p.Changes.Read(ctx, partition, v.next[partition])
	if err == nil && len(msgs) == 0 && next == v.next[partition] {
		err = errors.New("the log ends too early")
	}
	return msgs, next, err
}

func (v *visit) concerns(it item) bool {
	return it.scope == v.client.scope || v.client.ofTenant() && it.scope.Tenant == v.client.scope.Tenant
}

// live sends new events.
func (v *visit) live(ctx context.Context) error {
	beat, check := time.NewTicker(v.p.Heartbeat), time.NewTicker(v.p.Check)
	defer beat.Stop()
	defer check.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-v.client.cut:
			return errSlow
		case <-check.C:
			err = v.confirm(ctx)
		case <-beat.C:
			err = v.beat()
		case it := <-v.client.queue:
			if err = v.confirm(ctx); err == nil {
				err = v.writeEvents(it)
			}
		}
		if err != nil {
			return err
		}
	}
}

// maxTogether bounds a single write to a client, in bytes.
const maxTogether = 64 << 10

// writeEvents sends an event, with the events that wait behind it.
func (v *visit) writeEvents(it item) error {
	var out []byte
	for {
		if at := v.next[it.partition]; it.scope.Tenant == "" { // a gap
			v.next[it.partition] = it.offset + 1
			out = append(append(out, v.idLine()...), it.frame...)
		} else if it.offset >= at { // else it was replayed
			v.next[it.partition] = it.offset + 1
			out = append(append(out, v.idLine()...), it.frame...)
		}
		if len(out) > maxTogether {
			return v.write(out)
		}
		select {
		case it = <-v.client.queue:
		default:
			return v.write(out)
		}
	}
}

// beat sends a sign of life and the client's progress. The changes of other users move the position to continue
// from.
func (v *visit) beat() error {
	for p, next := range v.hub.passed(v.client) {
		v.next[p] = max(v.next[p], next)
	}
	out := []byte(":\n")
	if !maps.Equal(v.next, v.told) {
		out = append(out, v.idLine()...)
	}
	return v.write(append(out, '\n'))
}

// idLine returns the line with the client's progress.
func (v *visit) idLine() []byte {
	v.told = maps.Clone(v.next)
	return []byte("id: " + v.ids.id(v.next) + "\n")
}

// confirm checks the key when the check is due.
func (v *visit) confirm(ctx context.Context) error {
	if time.Since(v.checked) < v.p.Check {
		return nil
	}
	v.checked = time.Now()
	p, err := v.p.Auth.Authenticate(ctx, v.key)
	switch {
	case err == nil && p.Tenant.ID == v.principal.Tenant.ID && p.Allow(access.Read, v.client.scope.User) == nil:
		v.confirmed = v.checked
		return nil
	case err == nil, errors.Is(err, tenant.ErrUnknownKey), errors.Is(err, tenant.ErrSuspended):
		return errUnauthorized
	case ctx.Err() != nil:
		return ctx.Err()
	case time.Since(v.confirmed) >= v.p.Confirm:
		return errUnauthorized
	}
	return nil
}

// write sends lines at once. A client that does not take them in time is gone.
func (v *visit) write(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	if err := v.control.SetWriteDeadline(time.Now().Add(v.p.WriteTimeout)); err != nil {
		return fmt.Errorf("set the deadline of a write: %w", err)
	}
	if _, err := v.w.Write(lines); err != nil {
		return err
	}
	return v.control.Flush()
}

// frame are the lines of an event after its id; data is JSON in one line.
func frame(name string, data []byte) []byte {
	out := make([]byte, 0, len(name)+len(data)+len("event: \ndata: \n\n"))
	out = append(append(out, "event: "...), name...)
	out = append(append(out, "\ndata: "...), data...)
	return append(out, "\n\n"...)
}

func gapFrame(reason string) []byte { return frame("gap", []byte(`{"reason":"`+reason+`"}`)) }
