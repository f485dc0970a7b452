package runner

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// lingerTimeout is how long a client may take to send what a handler has left unread of a body. net/http reads some of that, so that the
// client gets to read the answer; beyond that the connection is closed.
const lingerTimeout = time.Second

// timeBodies bounds how long a request's body may take to arrive, counted from the end of its headers. A late body fails with an error
// that wraps os.ErrDeadlineExceeded where the handler reads it. What the handler does afterwards, and what it answers, may take any time.
func timeBodies(limit time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &timedBody{
			ReadCloser: r.Body, control: http.NewResponseController(w), deadline: time.Now().Add(limit), shared: r.ProtoMajor > 1,
		}
		body.until(body.deadline)
		defer body.leave()
		r = r.WithContext(r.Context()) // a copy: net/http wants the body that it gave back in its own
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// timedBody is a body that has to arrive in time. The deadline is the connection's for HTTP/1, the stream's for HTTP/2. It is taken back
// once the body has arrived: what waits for the client's next bytes then would take it for the client's end, and cancel the handler.
type timedBody struct {
	io.ReadCloser
	control  *http.ResponseController
	deadline time.Time
	shared   bool // the connection carries other requests, too
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

// Close implements io.Closer. It may read what is left of the body, in time.
func (t *timedBody) Close() error {
	err := t.ReadCloser.Close()
	t.arrived()
	return err
}

func (t *timedBody) arrived() { t.once.Do(func() { t.until(time.Time{}) }) }

// leave ends the body's time when its handler has returned: the connection is net/http's again, which is to read the rest of it shortly,
// and sets a deadline of its own for the next request. An HTTP/2 stream ends with its handler.
func (t *timedBody) leave() {
	t.once.Do(func() {
		if end := time.Now().Add(lingerTimeout); !t.shared && end.Before(t.deadline) {
			t.until(end)
		}
	})
}

func (t *timedBody) until(deadline time.Time) {
	_ = t.control.SetReadDeadline(deadline) // fails only where the connection is closed, as reading will
}
