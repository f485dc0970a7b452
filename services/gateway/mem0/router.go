package mem0

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// operation is a call. Its answer is JSON. An answer of type reply sets its own status. The client receives an
// error as a problem.
type operation func(r *http.Request, in fields) (any, error)

// reply is an answer with its status.
type reply struct {
	status int
	answer any
}

// route is a call with its path. A segment "{name}" matches any segment that is not empty.
type route struct {
	method   string
	segments []string
	serve    operation
}

// newRoute is the route of a pattern such as "GET /v1/memories/{memory_id}/".
func newRoute(pattern string, serve operation) route {
	method, path, _ := strings.Cut(pattern, " ")
	return route{method, segmentsOf(path), serve}
}

func segmentsOf(path string) []string { return strings.Split(strings.TrimSuffix(path, "/"), "/") }

// router finds calls by the escaped path, so that an identifier may hold anything, a slash that is escaped, too.
type router struct {
	routes []route
	log    *slog.Logger
}

// ServeHTTP implements http.Handler.
func (m *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	segments := segmentsOf(r.URL.EscapedPath())
	var allowed []string
	for _, c := range m.routes {
		if !c.matches(segments) {
			continue
		}
		if c.method == r.Method {
			m.serve(w, r, c, segments)
			return
		}
		allowed = append(allowed, c.method)
	}
	if len(allowed) == 0 {
		WriteProblem(w, r, problem.NotFound("no resource has this path"))
		return
	}
	slices.Sort(allowed)
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	WriteProblem(w, r, problem.Method(allowed...))
}

// matches reports whether a path belongs to the route. A literal segment wins over a variable segment if its route
// comes first.
func (c route) matches(segments []string) bool {
	return slices.EqualFunc(c.segments, segments, func(want, is string) bool {
		if strings.HasPrefix(want, "{") {
			return is != ""
		}
		return want == is
	})
}

// serve makes a call and writes its answer.
func (m *router) serve(w http.ResponseWriter, r *http.Request, c route, segments []string) {
	answer, err := c.call(r, segments)
	if err != nil {
		p := problem.From(err)
		if p.Status >= http.StatusInternalServerError && p.Code != problem.CodeUnsupported && r.Context().Err() == nil {
			m.log.ErrorContext(r.Context(), "mem0's API", "call", c.method+" "+strings.Join(c.segments, "/"), "error", err)
		}
		WriteProblem(w, r, p)
		return
	}
	if own, ok := answer.(reply); ok {
		write(w, own.status, own.answer)
		return
	}
	write(w, http.StatusOK, answer)
}

// call unescapes the path's parameters, reads the body, and makes the call.
func (c route) call(r *http.Request, segments []string) (any, error) {
	for i, s := range c.segments {
		if !strings.HasPrefix(s, "{") {
			continue
		}
		name := strings.Trim(s, "{}")
		value, err := url.PathUnescape(segments[i])
		if err != nil || !utf8.ValidString(value) {
			return nil, problem.Invalid(name, "is not percent-encoded UTF-8")
		}
		r.SetPathValue(name, value)
	}
	if r.Method == http.MethodGet {
		return c.serve(r, nil)
	}
	in, err := readFields(r)
	if err != nil {
		return nil, err
	}
	return c.serve(r, in)
}
