package runner

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// lingerTimeout is the maximum time for a client to send the unread rest of a body. net/http reads some of that
// rest, so that the client can read the answer. Beyond it the connection is closed.
const lingerTimeout = time.Second

// timeBodies bounds the time for a request's body to arrive, from the end of its headers. A late body fails in the
// handler's read with an error that wraps os.ErrDeadlineExceeded. The handler's later work and its answer may take
// any time.
func timeBodies(limit time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &timedBody{
			ReadCloser: r.Body, control: http.NewResponseController(w), deadline: time.Now().Add(limit),
			shared: r.ProtoMajor > 1,
		}
		body.until(body.deadline)
		defer body.clearDeadline()
		r = r.WithContext(r.Context()) // a copy: net/http expects its original body in its own request
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// timedBody is a body with a deadline. The deadline belongs to the connection in HTTP/1, and to the stream in
// HTTP/2. It is removed once the body has arrived. Otherwise the background read for the client's next bytes would
// take it for the client's end, and cancel the handler.
type timedBody struct {
	io.ReadCloser
	control  *http.ResponseController
	deadline time.Time
	shared   bool // the connection also carries other requests
	once     sync.Once
}

// Read implements io.Reader.
func (t *timedBody) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		t.arrived()
	}
	return n, err
}

// Close implements io.Closer. It may read the rest of the body, in time.
func (t *timedBody) Close() error {
	err := t.ReadCloser.Close()
	t.arrived()
	return err
}

func (t *timedBody) arrived() { t.once.Do(func() { t.until(time.Time{}) }) }

// clearDeadline removes the body's deadline when its handler has returned. Then net/http controls the connection: it
// reads the rest shortly, and sets a new deadline for the next request. An HTTP/2 stream ends with its handler.
func (t *timedBody) clearDeadline() {
	t.once.Do(func() {
		if end := time.Now().Add(lingerTimeout); !t.shared && end.Before(t.deadline) {
			t.until(end)
		}
	})
}

func (t *timedBody) until(deadline time.Time) {
	_ = t.control.SetReadDeadline(deadline) // it fails only on a closed connection, and so will the read
}
