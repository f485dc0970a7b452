package rest

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
)

// operation is one of the API's.
type operation struct {
	id, tag              string
	summary, description string
	scope                access.Scope
	// route is the method and the path, as in "GET /keys".
	route string
	// also is an additional required scope. It is empty for none.
	also access.Scope
	// when lists the scopes that some requests need in addition.
	when []conditionalScope
	// keyed says that an Idempotency-Key is wanted.
	keyed bool
	// secrets are fields of the answer that are shown once: not where a request is repeated.
	secrets []string
	// status is the status of the answer. 0 means 200.
	status int
	// answers are the bodies of the answers by status, if there is more than one.
	answers map[int]*huma.Schema
	// errors are the statuses of problems, in addition to the common ones.
	errors []int
	// lines says that the answer is JSON lines.
	lines bool
}

// conditionalScope is a scope that an operation needs for some requests only.
type conditionalScope struct {
	// If says for which.
	If    string       `json:"if"`
	Scope access.Scope `json:"scope"`
}

// whenKey is the extension of an operation that lists its conditional scopes.
const whenKey = "x-scopes-if"

// scopes returns the required scopes of every request of the operation.
func (o operation) scopes() []string {
	if o.also == "" {
		return []string{string(o.scope)}
	}
	return []string{string(o.scope), string(o.also)}
}

// needs says in words which scopes the operation needs.
func (o operation) needs() string {
	out := "Needs the scope `" + strings.Join(o.scopes(), "` and `") + "`."
	if o.also != "" {
		out = strings.Replace(out, "scope", "scopes", 1)
	}
	for _, c := range o.when {
		out += " Needs `" + string(c.Scope) + "`, too, " + c.If + "."
	}
	return out
}

// describe writes the scopes into an operation's description. Its security requirement names them.
func (o operation) describe(op *huma.Operation) {
	op.Description += "\n\n" + o.needs()
	op.Security = []map[string][]string{{"key": o.scopes()}}
	if o.when != nil {
		op.Extensions = map[string]any{whenKey: o.when}
	}
}

// commonErrors are the possible error statuses of every operation.
var commonErrors = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
	http.StatusInternalServerError, http.StatusServiceUnavailable,
}

// register adds an operation to the API.
func register[I, O any](a *API, o operation, handle func(context.Context, *I) (*O, error)) {
	o.status = cmp.Or(o.status, http.StatusOK)
	method, path, _ := strings.Cut(o.route, " ")
	op := &huma.Operation{
		OperationID: o.id, Method: method, Path: base + path, Tags: []string{o.tag}, Summary: o.summary,
		Description:   o.description,
		DefaultStatus: o.status, Responses: map[string]*huma.Response{},
		SkipValidateParams: true, SkipValidateBody: true, // check does, with the same schemas
		MaxBodyBytes: problem.MaxBody + 1, BodyReadTimeout: -1, // the body has been read
	}
	o.describe(op)
	if o.lines {
		op.Responses[strconv.Itoa(o.status)] = &huma.Response{
			Description: "JSON lines",
			Content:     map[string]*huma.MediaType{linesType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
		}
	}
	for status, schema := range o.answers {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Content: map[string]*huma.MediaType{jsonType: {Schema: schema}},
		}
	}
	a.problems(op, append(slices.Clone(commonErrors), o.errors...))
	var registered *huma.Operation
	op.Middlewares = huma.Middlewares{func(c huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(c)
		a.admit(w, r, o, c.Operation(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next(humago.NewContext(c.Operation(), r, quiet{w}))
		}))
	}}
	huma.Register(a.huma, *op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, a.toProblem(ctx, registered, err)
		}
		return out, nil
	})
	registered = find(a.huma.OpenAPI(), op.Method, op.Path)
	if registered.RequestBody != nil {
		a.problems(registered, []int{http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType})
	}
	if o.keyed {
		a.problems(registered, []int{http.StatusConflict, http.StatusGone, http.StatusUnprocessableEntity})
	}
}

// find returns an operation of the description.
func find(api *huma.OpenAPI, method, path string) *huma.Operation {
	item := api.Paths[path]
	return map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
	}[method]
}

// problems says that an operation may answer with problems of statuses.
func (a *API) problems(op *huma.Operation, statuses []int) {
	schema := schemaOf[Problem](a.huma, "Problem")
	for _, status := range statuses {
		response := &huma.Response{
			Description: http.StatusText(status), Content: map[string]*huma.MediaType{problemType: {Schema: schema}},
		}
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			response.Headers = map[string]*huma.Param{"Retry-After": {
				Schema: &huma.Schema{Type: huma.TypeInteger}, Description: "Time until a useful retry, in seconds.",
			}}
		}
		if status == http.StatusNotModified {
			response.Content = nil
		}
		op.Responses[strconv.Itoa(status)] = response
	}
}

// admit holds a request against its caller and the operation's description before next sees it.
func (a *API) admit(w http.ResponseWriter, r *http.Request, o operation, op *huma.Operation, next http.Handler) {
	err := backend.Check(r.Context(), o.scope, r.PathValue("user"))
	if err == nil && o.also != "" {
		err = backend.Check(r.Context(), o.also, r.PathValue("user"))
	}
	if err == nil {
		err = checkParameters(op, r)
	}
	if err == nil && op.RequestBody != nil {
		err = a.readBody(r, op.RequestBody)
	}
	switch {
	case err != nil:
		a.toProblem(r.Context(), op, err).write(w)
	case o.keyed:
		a.Idempotency.Wrap(WriteProblem, next, o.secrets...).ServeHTTP(w, r)
	default:
		next.ServeHTTP(w, r)
	}
}

// readBody reads the body of a request, and checks JSON against its schema.
func (a *API) readBody(r *http.Request, want *huma.RequestBody) error {
	media, err := mediaOf(r.Header, want)
	if err != nil {
		return err
	}
	var body []byte
	if media == linesType {
		if body, err = problem.ReadAll(r); err == nil {
			err = problem.CheckText(body)
		}
	} else {
		body, err = problem.ReadBody(r)
	}
	if err != nil {
		return located{problem.From(err), inBody}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		if want.Required {
			return invalid(inBody, inBody, "is missing, want "+media)
		}
		body = nil
	} else if media == jsonType {
		if err := checkBody(a.huma.OpenAPI().Components.Schemas, want.Content[media].Schema, body); err != nil {
			return err
		}
	}
	r.Header.Set("Content-Type", media)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// quiet hides from huma, which panics, that the client has gone.
type quiet struct{ http.ResponseWriter }

// Write implements http.ResponseWriter.
func (q quiet) Write(p []byte) (int, error) {
	_, _ = q.ResponseWriter.Write(p)
	return len(p), nil
}

// Unwrap is for http.ResponseController.
func (q quiet) Unwrap() http.ResponseWriter { return q.ResponseWriter }

// streams are the operations that Parts.Streams serves; they are no use for huma's handlers, which return.
func (a *API) streams() {
	a.stream("stream-user", "/users/{user}/events", "Stream changes of a user's memories")
	a.stream("stream-tenant", "/events", "Stream changes of all users' memories")
}

func (a *API) stream(id, path, summary string) {
	parameters := []*huma.Param{{
		Name: "Last-Event-ID", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "The opaque id of the client's last event. The stream sends the later events first. A client sends " +
			"the id when it reconnects. `EventSource` of browsers does so, but it cannot send the required `Authorization`.",
	}}
	if strings.Contains(path, "{user}") {
		parameters = append(parameters, &huma.Param{Name: "user", In: "path", Required: true,
			Schema: schemaOf[userID](a.huma, "")})
	}
	op := &huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: base + path, Tags: []string{tagMemories}, Summary: summary,
		Description: "Server-sent events, one for each change: `memory.added`, `memory.updated`, `memory.merged`, " +
			"`memory.deleted`, `memory.released`, `core.changed` and `user.erased`, with ids and no texts. `gap` says that " +
			"changes may be missing, and `end` why the stream ends. In browsers, read it with " +
			"`fetch(url, {headers: {Authorization: \"Bearer KEY\", \"Last-Event-ID\": last}})` and its `body`, since " +
			"`EventSource` cannot send the key.",
		Parameters: parameters,
		Responses: map[string]*huma.Response{"200": {
			Description: "Events, until one side ends",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}
	o := operation{scope: access.Read}
	o.describe(op)
	a.problems(op, commonErrors)
	a.huma.OpenAPI().AddOperation(op)
	a.router.HandleFunc(op.Method+" "+op.Path, func(w http.ResponseWriter, r *http.Request) {
		a.admit(w, r, o, op, a.Streams)
	})
}
