package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/memory"
)

// MaxBody bounds the body of a request of every API, in bytes. The process may bound it more closely
// (MNEME_HTTP_MAX_BODY). Many turns of the maximum length fit, also with escaped characters.
const MaxBody = 8 << 20

// encodings are the headers that name a compression of bodies, or of messages in bodies. They are the headers of
// HTTP, of Connect's streams and of gRPC.
var encodings = []string{"Content-Encoding", "Connect-Content-Encoding", "Grpc-Encoding"}

// CheckHeaders returns a problem if the headers show an unacceptable body: compressed, or longer than MaxBody. It
// does not read the body.
func CheckHeaders(r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	for _, name := range encodings {
		for _, value := range r.Header.Values(name) {
			if value != "" && !strings.EqualFold(value, "identity") {
				return Problem{
					Status: http.StatusUnsupportedMediaType, Code: CodeMediaType, Field: name,
					Detail: "is not supported: send the body without compression",
				}
			}
		}
	}
	if r.ContentLength > MaxBody {
		return tooLarge(MaxBody)
	}
	return nil
}

// tooLarge is the problem of a body over a limit, in bytes.
func tooLarge(limit int64) Problem {
	return Problem{
		Status: http.StatusRequestEntityTooLarge, Code: CodeTooLarge,
		Detail: fmt.Sprintf("the body is too large, want at most %d bytes", limit),
	}
}

// fieldAtFault begins the message of an error of the services behind the gateway that names a field.
var fieldAtFault = regexp.MustCompile(`^([a-z][a-z_.\[\]0-9]*): (.+)$`)

// splitField takes the field from the beginning of a message; there may be none.
func splitField(message string) (field, rest string) {
	if m := fieldAtFault.FindStringSubmatch(message); m != nil {
		return m[1], m[2]
	}
	return "", message
}

// ReadBody reads a body of one JSON value, and checks it with CheckJSON. It returns an empty body as it is. Its errors
// are problems.
func ReadBody(r *http.Request) ([]byte, error) {
	body, err := ReadAll(r)
	if err != nil {
		return nil, err
	}
	return body, CheckJSON(body)
}

// ReadAll reads a body of up to MaxBody bytes, whatever it is. Its errors are problems.
func ReadAll(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, MaxBody))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, From(err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, Problem{Status: http.StatusRequestTimeout, Code: CodeBodyTimeout,
			Detail: "the body did not arrive in time"}
	case err != nil:
		return nil, Malformed("", "the body could not be read")
	}
	return body, nil
}

// CheckJSON returns a problem for a body that CheckText refuses. It also refuses a body that is neither empty nor
// one JSON value in UTF-8.
func CheckJSON(body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if !utf8.Valid(body) {
		return Malformed("", "the body is not valid UTF-8")
	}
	if err := CheckText(body); err != nil { // before json.Valid, which does not bound the depth as closely
		return err
	}
	if !json.Valid(body) {
		return Malformed("", "the body is not valid JSON")
	}
	return nil
}

// CheckText returns a problem for a body of JSON, or of lines of JSON, that memory.CheckJSONText refuses.
func CheckText(body []byte) error {
	err := memory.CheckJSONText("", body)
	if err == nil {
		return nil
	}
	p := From(err)
	if p.Field == "" {
		p.Detail = "the body " + p.Detail
	}
	return Malformed(p.Field, p.Detail)
}
