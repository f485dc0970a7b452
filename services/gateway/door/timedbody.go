package door

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// timedBody is a body that has to arrive in time. The deadline is the connection's, and is taken back once the body is read, so that it
// does not end what is written afterwards.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	once    sync.Once
}

func newTimedBody(w http.ResponseWriter, body io.ReadCloser, limit time.Duration) *timedBody {
	t := &timedBody{ReadCloser: body, control: http.NewResponseController(w)}
	if limit > 0 && body != nil && body != http.NoBody {
		_ = t.control.SetReadDeadline(time.Now().Add(limit)) // writers of tests have none
	} else {
		t.once.Do(func() {})
	}
	return t
}

// Read implements io.Reader.
func (t *timedBody) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if err == io.EOF { //nolint:errorlint // readers return it as it is
		t.done()
	}
	return n, err
}

// Close implements io.Closer.
func (t *timedBody) Close() error {
	t.done()
	return t.ReadCloser.Close()
}

func (t *timedBody) done() {
	t.once.Do(func() { _ = t.control.SetReadDeadline(time.Time{}) })
}
