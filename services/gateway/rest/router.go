package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// router finds routes by the escaped path, segment by segment. So an identifier may contain anything: an escaped
// slash, dots, or nothing at all. net/http's mux would clean such paths and redirect.
type router struct {
	routes map[int][]route // by their number of segments
}

type route struct {
	method   string
	segments []string // "{name}" stands for any
	serve    http.HandlerFunc
}

func newRouter() *router { return &router{routes: map[int][]route{}} }

// HandleFunc registers a route by its method and path ("GET /a/{b}").
func (m *router) HandleFunc(pattern string, serve func(http.ResponseWriter, *http.Request)) {
	method, path, _ := strings.Cut(pattern, " ")
	segments := strings.Split(path, "/")
	m.routes[len(segments)] = append(m.routes[len(segments)], route{method, segments, serve})
}

// ServeHTTP implements http.Handler.
func (m *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	var allowed []string
	for _, c := range m.routes[len(segments)] {
		if !c.matches(segments) {
			continue
		}
		// whose body net/http leaves out
		if c.method == r.Method || c.method == http.MethodGet && r.Method == http.MethodHead {
			c.open(w, r, segments)
			return
		}
		allowed = append(allowed, c.method)
		if c.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	if len(allowed) > 0 {
		slices.Sort(allowed)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		WriteProblem(w, r, problem.Method(allowed...))
		return
	}
	detail := "no resource has this path; /docs lists all resources"
	if len(segments) > 3 && !strings.HasPrefix(r.URL.EscapedPath(), base+"/") {
		detail = "paths begin with " + base + ": the tenant is the API key's tenant"
	}
	WriteProblem(w, r, problem.NotFound(detail))
}

func (c route) matches(segments []string) bool {
	for i, s := range c.segments {
		if _, ok := parameter(s); !ok && s != segments[i] {
			return false
		}
	}
	return true
}

// open serves a request with its path parameters unescaped.
func (c route) open(w http.ResponseWriter, r *http.Request, segments []string) {
	for i, s := range c.segments {
		name, ok := parameter(s)
		if !ok {
			continue
		}
		value, err := url.PathUnescape(segments[i])
		if err != nil { // EscapedPath returns no such thing
			WriteProblem(w, r, problem.Invalid(name, "is not percent-encoded"))
			return
		}
		r.SetPathValue(name, value)
	}
	c.serve(w, r)
}

// parameter is the name of a segment that stands for any.
func parameter(segment string) (string, bool) {
	if strings.HasPrefix(segment, "{") {
		return strings.Trim(segment, "{}"), true
	}
	return "", false
}

// pathOf is a path of the API; names and identifiers are its segments.
func pathOf(segments ...string) string {
	var out strings.Builder
	out.WriteString(base)
	for _, s := range segments {
		out.WriteString("/" + segment(s))
	}
	return out.String()
}

// segment escapes an identifier as one segment of a path, the dots of "." and "..", too, which clients would resolve.
func segment(id string) string {
	if id == "." || id == ".." {
		return strings.ReplaceAll(id, ".", "%2E")
	}
	return url.PathEscape(id)
}
