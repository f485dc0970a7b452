package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// Errors of a call. Each is retryable with the same data: the turns are valid and must not be dropped.
var (
	// ErrUnavailable says that the endpoint could not serve the request in the allowed attempts. It is overloaded,
	// failing, too slow or unreachable.
	ErrUnavailable = fmt.Errorf("model endpoint %w", fault.ErrUnavailable)
	// ErrUnauthorized says that the endpoint refuses the key (401, 403, or its quota is used up). The operator must
	// repair it.
	ErrUnauthorized = errors.New("model endpoint refuses the key, check the API key, its rights and its quota")
	// ErrNotFound says that the endpoint has no such path or model (404). The operator must repair it.
	ErrNotFound = errors.New("model endpoint does not know the path or the model, check base URL and model name")
	// ErrRejected says that the endpoint rejects the request itself (400 and similar), and probably other requests
	// too. The settings are wrong, and the operator must repair them. A rejection of one request, while the
	// endpoint accepts others, is ErrContent too.
	ErrRejected = errors.New("model endpoint rejects the request, check the model's limits and settings")
	// ErrBudget says that the tenant's token budget is used up, so the client sent no request.
	ErrBudget = fmt.Errorf("tenant's %w", fault.ErrBudget)

	// ErrTruncated says that the answer hit the token limit, or that the request alone did.
	ErrTruncated error = truncated
	// ErrRefused says that the model or a content filter refused to answer.
	ErrRefused error = refused
	// ErrContent says that the endpoint rejects the content of the request, because it accepts a request without
	// content.
	ErrContent error = rejected
	// ErrEmpty says that the answer holds no choice or no text.
	ErrEmpty error = unusableAnswer("model answer empty")
	// ErrMalformed says that the answer was unusable, even after the model saw its fault.
	ErrMalformed error = unusableAnswer("model answer malformed")
)

// unusableAnswer is an error of fault.ErrUnusableAnswer. A few more requests may help, and endless ones do not.
// Callers therefore bound their retries and keep the data.
type unusableAnswer string

// Error is the sentence.
func (e unusableAnswer) Error() string { return string(e) }

// Is makes every unusableAnswer an error of fault.ErrUnusableAnswer. A truncated, refused or rejected answer is
// fault.ErrAskLess too.
func (e unusableAnswer) Is(target error) bool {
	return target == fault.ErrUnusableAnswer ||
		target == fault.ErrAskLess && (e == truncated || e == refused || e == rejected)
}

const (
	truncated unusableAnswer = "model answer truncated, raise the output token limit or send less"
	refused   unusableAnswer = "model refused to answer"
	rejected  unusableAnswer = "model endpoint rejects the data of the request, and accepts a request without data"
)

// StatusError is an HTTP status other than success. Endpoints quote the request in their messages, so its text
// shows only the identifiers of the fault.
type StatusError struct {
	// Status is the HTTP status.
	Status int
	// Code, Type and Param are the fields of the endpoint's error that look like identifiers.
	Code, Type, Param string
	// RetryAfter is the wait that the endpoint requested, or 0.
	RetryAfter time.Duration
	// message is kept for recognising faults only.
	message string
}

// Error names the status and the identifiers.
func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "status %d", e.Status)
	for _, f := range []struct{ name, value string }{{"code", e.Code}, {"type", e.Type}, {"param", e.Param}} {
		if f.value != "" {
			b.WriteString(" " + f.name + "=" + f.value)
		}
	}
	return b.String()
}

// kind is the sentinel that the status belongs to.
func (e *StatusError) kind() error {
	switch {
	case e.retryable():
		return ErrUnavailable
	case e.Status == 401 || e.Status == 403 || e.Code == quotaUsedUp:
		return ErrUnauthorized
	case e.tooLong():
		return ErrTruncated
	case slices.Contains(filtered, e.Code):
		return fmt.Errorf("%w: content filter", ErrRefused)
	case e.Status == 404:
		return ErrNotFound
	default:
		return ErrRejected
	}
}

// filtered are the codes of a 400 for a request that a content filter rejects.
var filtered = []string{"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation",
	"data_inspection_failed"}

// tooLong reports whether the request is too long for the model. Servers report it by a code, a type, or words alone.
func (e *StatusError) tooLong() bool {
	if e.Code == "context_length_exceeded" || e.Type == "exceed_context_size_error" ||
		e.Status == http.StatusRequestEntityTooLarge {
		return true
	}
	said := strings.ToLower(e.message)
	return e.rejects() && slices.ContainsFunc([]string{"context length", "context size", "context window",
		"prompt is too long"},
		func(words string) bool { return strings.Contains(said, words) })
}

// rejects reports whether the endpoint found the request itself wrong.
func (e *StatusError) rejects() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity
}

// quotaUsedUp is the code of a 429 that no waiting repairs.
const quotaUsedUp = "insufficient_quota"

func (e *StatusError) retryable() bool {
	if e.Code == quotaUsedUp {
		return false
	}
	return e.Status == 408 || e.Status == 409 || e.Status == 429 || e.Status >= 500
}

// names reports whether the endpoint complains about a request field.
func (e *StatusError) names(field string) bool {
	if !e.rejects() {
		return false
	}
	if e.Param != "" {
		return e.Param == field || strings.HasPrefix(e.Param, field+".")
	}
	return strings.Contains(e.message, field)
}

// maxAnswerBytes bounds the bytes read of an answer. It leaves room for the longest text and the largest batch of
// vectors.
const maxAnswerBytes = 64 << 20

// maxErrorBytes bounds how much of an error's body is read.
const maxErrorBytes = 64 << 10

// parseStatus reads the error forms in use: {"error":{...}}, {"error":"..."}, {"message":...}, {"detail":...}, and
// text. It keeps the server's part of the message, without quotations of the request.
func parseStatus(body []byte, key config.Secret) *StatusError {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Param   string `json:"param"`
		Code    any    `json:"code"` // a string or a number
	}
	e := &StatusError{message: string(body)}
	if json.Unmarshal(body, &outer) != nil {
		return e
	}
	_ = json.Unmarshal(outer.Error, &inner) // an unknown form leaves the fields empty
	var said string
	_ = json.Unmarshal(outer.Error, &said)
	if m := strings.TrimSpace(strings.Join([]string{outer.Message, inner.Message, said, detail(outer.Detail)},
		" ")); m != "" {
		e.message = m
	}
	code, _ := inner.Code.(string)
	e.Code, e.Type, e.Param = identifier(code, key), identifier(inner.Type, key), identifier(inner.Param, key)
	return e
}

// detail is the text of validators such as FastAPI's: a text, or a list of faults and their places.
func detail(raw json.RawMessage) string {
	var said string
	if json.Unmarshal(raw, &said) == nil {
		return said
	}
	var all []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	_ = json.Unmarshal(raw, &all)
	for _, d := range all {
		said += fmt.Sprint(d.Msg, " ", d.Loc, " ")
	}
	return said
}

var identifierPattern = regexp.MustCompile(`^[A-Za-z0-9_.\[\]-]{1,64}$`)

// identifier lets only texts pass that can be neither a sentence nor the key.
func identifier(s string, key config.Secret) string {
	if !identifierPattern.MatchString(s) || (key != "" && strings.Contains(s, key.Reveal())) {
		return ""
	}
	return s
}
