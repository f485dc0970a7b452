package problem_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/fault"
)

func TestFrom(t *testing.T) {
	rpc := func(c connect.Code, text string) error { return connect.NewError(c, errors.New(text)) }
	for _, c := range []struct {
		err           error
		status        int
		field, detail string
	}{
		{fault.Terminal("turns[3].text", "is empty"), 400, "turns[3].text", "is empty"},
		{rpc(connect.CodeInvalidArgument, "query: is empty, want 1 to 4096 bytes"), 400, "query",
			"is empty, want 1 to 4096 bytes"},
		{rpc(connect.CodeNotFound, "memory not found"), 404, "", "memory not found"},
		{rpc(connect.CodeFailedPrecondition, "superseded"), 409, "", "superseded"},
		{rpc(connect.CodeUnavailable, "away"), 503, "", "away"},
		{rpc(connect.CodeUnknown, "x"), 500, "", "an internal error"},
		{access.ErrForbidden, 403, "", "not allowed"},
		{context.DeadlineExceeded, 503, "", "the deadline is exceeded"},
		{&http.MaxBytesError{Limit: 1}, 413, "", "the body is too large"},
		{errors.New("dial tcp 10.0.0.1: secret"), 500, "", "an internal error"},
		{problem.Invalid("limit", "is 0"), 400, "limit", "is 0"},
	} {
		p := problem.From(c.err)
		if p.Status != c.status || p.Field != c.field || !strings.HasPrefix(p.Detail, c.detail) {
			t.Errorf("%v: got %+v", c.err, p)
		}
	}
}

func TestCheckJSON(t *testing.T) {
	for body, ok := range map[string]bool{
		"": true, " ": true, `{"a":[1,"]]]]{{{{"]}`: true, `{"a"`: false, "{} {}": false, "\xff": false, `"\`: false,
		strings.Repeat("[", 64) + strings.Repeat("]", 64): true, strings.Repeat("[", 65) + strings.Repeat("]", 65): false,
		strings.Repeat("[", 1<<20): false, `{"a":"` + strings.Repeat("{", 100) + `"}`: true,
	} {
		if err := problem.CheckJSON([]byte(body)); (err == nil) != ok {
			t.Errorf("%.40q: got %v", body, err)
		}
	}
}

func TestCheckTextNamesTheField(t *testing.T) {
	const half = `has an escaped half of a surrogate pair (\ud800 to \udfff), which is no character`
	for body, want := range map[string]problem.Problem{
		`{"turns":[{},{"text":"\ud800"}]}`: problem.Malformed("turns[1].text", half),
		`{"user_id":"a","user_id":"b"}`:    problem.Malformed("user_id", "occurs twice"),
		"{\"a\":1}\n{\"a\":1}":             {},
		strings.Repeat("[", 65):            problem.Malformed("", "the body is nested too deep, want at most 64 levels"),
	} {
		var p problem.Problem
		errors.As(problem.CheckText([]byte(body)), &p)
		if p != want {
			t.Errorf("%s: got %+v, want %+v", body, p, want)
		}
	}
}

// FuzzCheckJSON finds values that a decoder would replace.
func FuzzCheckJSON(f *testing.F) {
	f.Add([]byte(`{"a":["\\"]}`))
	f.Add([]byte(`"\ud83d\ude00\ud800"`))
	f.Fuzz(func(t *testing.T, body []byte) {
		_ = problem.CheckText(body) // whatever it is
		if problem.CheckJSON(body) != nil || bytes.Contains(bytes.ToLower(body), []byte(`\ufffd`)) ||
			bytes.ContainsRune(body, '\uFFFD') {
			return
		}
		var value any
		if err := json.Unmarshal(body, &value); err == nil && strings.ContainsRune(fmt.Sprint(value), '\uFFFD') {
			t.Errorf("%q has something replaced", body)
		}
	})
}
