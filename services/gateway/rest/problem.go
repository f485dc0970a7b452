package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mneme-memory/mneme/services/gateway/idempotency"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// problemType is the media type of Problem.
const problemType = "application/problem+json"

// Problem is an error as RFC 9457 describes it.
type Problem struct {
	Type   string       `json:"type" doc:"Always about:blank. The code has the kind of the problem."`
	Title  string       `json:"title" doc:"The status in words."`
	Status int          `json:"status" minimum:"400" maximum:"599" doc:"The HTTP status."`
	Detail string       `json:"detail" doc:"A description of the error, for people."`
	Code   code         `json:"code"`
	Errors []FieldError `json:"errors,omitempty" nullable:"false" doc:"The wrong fields."`

	header http.Header
}

// code is one of problem.Codes.
type code string

// Schema implements huma.SchemaProvider. More codes may come: it says so, for programs that are generated from it.
func (code) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{
		Type: huma.TypeString, Description: "The kind of the problem, for programs. Later versions may add codes: treat " +
			"an unknown one by its status.",
	}
	for _, c := range problem.Codes() {
		s.Enum = append(s.Enum, c)
	}
	return s
}

// FieldError is an error of a field of a request.
type FieldError struct {
	Location string `json:"location,omitempty" enum:"path,query,header,body" doc:"The part of the request with the field."`
	Field    string `json:"field" doc:"The field, such as turns[3].text."`
	Message  string `json:"message" doc:"The error in the field."`
}

// Where fields are.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
	inBody   = "body"
)

// located is a problem with a field, and where the field is.
type located struct {
	problem.Problem
	location string
}

// Unwrap returns the problem.
func (l located) Unwrap() error { return l.Problem }

func invalid(location, field, message string) error {
	return located{problem.Invalid(field, message), location}
}

// newProblem is a problem in the form of this API; location is where its field is, if it has one.
func newProblem(p problem.Problem, location string) *Problem {
	out := &Problem{
		Type: "about:blank", Title: http.StatusText(p.Status), Status: p.Status, Detail: p.Detail, Code: code(p.Code),
		header: http.Header{},
	}
	p.SetHeaders(out.header)
	if p.Field != "" {
		out.Errors = []FieldError{{Location: location, Field: p.Field, Message: p.Detail}}
		out.Detail = p.Field + ": " + p.Detail
	}
	return out
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (*Problem) ContentType(string) string { return problemType }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header { return p.header }

// write answers with the problem.
func (p *Problem) write(w http.ResponseWriter) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client has gone
}

// WriteProblem is a guard.Writer that answers as RFC 9457 describes it.
func WriteProblem(w http.ResponseWriter, _ *http.Request, p problem.Problem) {
	location := ""
	if p.Field == idempotency.Header || p.Status == http.StatusUnsupportedMediaType {
		location = inHeader
	}
	newProblem(p, location).write(w)
}

// toProblem turns an error into the client's problem of an operation. It logs the parts that clients do not see.
func (a *API) toProblem(ctx context.Context, op *huma.Operation, err error) *Problem {
	p := problem.From(err)
	// not after the client disconnected
	if p.Status >= http.StatusInternalServerError && !errors.Is(ctx.Err(), context.Canceled) {
		a.Log.ErrorContext(ctx, "REST", "operation", op.OperationID, "error", err)
	}
	var known located
	if errors.As(err, &known) {
		return newProblem(p, known.location)
	}
	location := ""
	if p.Field != "" {
		location, p.Field = locate(op, p.Field)
	}
	out := newProblem(p, location)
	var none ingest.NoneAccepted
	if errors.As(err, &none) {
		for _, l := range none[1:] {
			out.Errors = append(out.Errors, FieldError{Location: inBody, Field: fieldInBody(l.Problem.Field),
				Message: l.Problem.Detail})
		}
	}
	return out
}

// locate finds a field that the services behind name in a request of an operation, which may name it otherwise.
func locate(op *huma.Operation, field string) (location, name string) {
	renamed := map[string]string{
		"user_id": "user", "session_id": "session", "memory_id": "memory", "erasure_id": "erasure",
		"request_id": idempotency.Header,
		"turn_ids":   "turn", "page_token": "cursor", "page_size": "limit", "statuses": "status",
	}
	for _, candidate := range []string{field, renamed[field]} {
		for _, p := range op.Parameters {
			if p.Name == candidate {
				return p.In, candidate
			}
		}
	}
	return inBody, fieldInBody(field)
}

// fieldInBody is the name in a body of a field that the services behind name.
func fieldInBody(field string) string {
	if name, ok := strings.CutPrefix(field, "turn."); ok { // of a turn that is made of a memory in a caller's words
		if field = name; name == "text" {
			field = "content"
		}
	}
	if before, ok := strings.CutSuffix(field, "turn_id"); ok {
		field = before + "id"
	}
	return field
}
