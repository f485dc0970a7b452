package mem0

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// fields are the fields of a JSON object. A null field counts as absent. Numbers are json.Number.
type fields map[string]any

// readFields reads a body that is to be a JSON object, or empty.
func readFields(r *http.Request) (fields, error) {
	body, err := problem.ReadBody(r)
	if err != nil {
		return nil, err
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return fields{}, nil
	}
	return fieldsOf(body)
}

// fieldsOf reads a JSON object.
func fieldsOf(body []byte) (fields, error) {
	var value any
	from := json.NewDecoder(bytes.NewReader(body))
	from.UseNumber()
	if err := from.Decode(&value); err != nil { // it has been found to be valid
		return nil, problem.Malformed("", "the body is not valid JSON")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, wrongType("", "the body", value, "an object")
	}
	return object, nil
}

// located is an error with the problem that it is to the client.
type located struct {
	problem.Problem
	cause error
}

// Error implements error.
func (l located) Error() string { return l.Problem.Error() + ": " + l.cause.Error() }

// Unwrap returns the problem before the cause.
func (l located) Unwrap() []error { return []error{l.Problem, l.cause} }

// placed adds to an error the part of the request, and a remark. An empty place changes nothing.
func placed(at, remark string, err error) error {
	p := problem.From(err)
	switch {
	case at != "" && p.Field != "":
		p.Field = at + "." + p.Field
	case at != "":
		p.Field = at
	}
	if remark != "" {
		p.Detail += " (" + remark + ")"
	}
	return located{p, err}
}

// wrongType says that a value is of another type than is wanted.
func wrongType(field, what string, value any, want string) problem.Problem {
	detail := "is " + memory.JSONType(value) + ", want " + want
	if field == "" {
		detail = what + " " + detail
	}
	return problem.Invalid(field, detail)
}

// has reports whether a field is there and not null.
func (f fields) has(name string) bool { return f[name] != nil }

// valueOf returns a field of a type. It returns otherwise if the field is absent. want names the type in errors.
func valueOf[T any](f fields, name, want string, otherwise T) (T, error) {
	if !f.has(name) {
		return otherwise, nil
	}
	v, ok := f[name].(T)
	if !ok {
		return v, wrongType(name, "", f[name], want)
	}
	return v, nil
}

// text returns a text field. It is empty if the field is absent.
func (f fields) text(name string) (string, error) { return valueOf(f, name, "text", "") }

// flag returns a field that is true or false. It returns otherwise if the field is absent.
func (f fields) flag(name string, otherwise bool) (bool, error) {
	return valueOf(f, name, "true or false", otherwise)
}

// number returns a field that is a number from low to high. It returns otherwise if the field is absent.
func (f fields) number(name string, otherwise, low, high float64) (float64, error) {
	n, err := valueOf(f, name, "a number", json.Number(""))
	if err != nil || n == "" {
		return otherwise, err
	}
	v, err := n.Float64()
	if err != nil || v < low || v > high {
		return 0, problem.Invalid(name, fmt.Sprintf("is out of range, want %s to %s", brief(low), brief(high)))
	}
	return v, nil
}

// whole is number for whole numbers.
func (f fields) whole(name string, otherwise, low, high int) (int, error) {
	v, err := f.number(name, float64(otherwise), float64(low), float64(high))
	if err == nil && v != math.Trunc(v) {
		err = problem.Invalid(name, "is not a whole number")
	}
	return int(v), err
}

func brief(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// object returns a field that is an object. It returns nil if the field is absent.
func (f fields) object(name string) (fields, error) {
	return valueOf(f, name, "an object", map[string]any(nil))
}

// list returns a field that is a list. It returns nil if the field is absent.
func (f fields) list(name string) ([]any, error) { return valueOf(f, name, "a list", []any(nil)) }

// texts returns a field that is a list of texts. It returns nil if the field is absent.
func (f fields) texts(name string) ([]string, error) {
	l, err := f.list(name)
	if err != nil || l == nil {
		return nil, err
	}
	out := make([]string, len(l))
	for i, v := range l {
		var ok bool
		if out[i], ok = v.(string); !ok {
			return nil, wrongType(fmt.Sprintf("%s[%d]", name, i), "", v, "text")
		}
	}
	return out, nil
}

// queryOf reads the parameters behind the path's question mark.
func queryOf(r *http.Request) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, problem.Invalid("", "the query of the URL is malformed")
	}
	return q, nil
}

// page is a part of a list.
type page struct {
	number, size int
}

// Limits of pages.
const (
	maxPage     = 1_000_000
	maxPageSize = 1000
)

// pageOf reads the parameters of a request, and of them page and page_size, by default the first of usual items.
func pageOf(r *http.Request, usual int) (url.Values, page, error) {
	out := page{1, usual}
	q, err := queryOf(r)
	if err != nil {
		return nil, out, err
	}
	for _, of := range []struct {
		name string
		to   *int
		most int
	}{{"page", &out.number, maxPage}, {"page_size", &out.size, maxPageSize}} {
		if !q.Has(of.name) {
			continue
		}
		n, err := strconv.Atoi(q.Get(of.name))
		if err != nil || n < 1 || n > of.most {
			return nil, out, problem.Invalid(of.name, fmt.Sprintf("is not a whole number from 1 to %d", of.most))
		}
		*of.to = n
	}
	return q, out, nil
}

// offset is the place of the first item, from 0.
func (p page) offset() int { return (p.number - 1) * p.size }

// paged is a page as mem0 has it; next and previous are relative to the URL of the request.
type paged[T any] struct {
	Count    int     `json:"count"`
	Next     *string `json:"next"`
	Previous *string `json:"previous"`
	Results  []T     `json:"results"`
}

// pagedOf is a page of so many items in all.
func pagedOf[T any](p page, count int, results []T) paged[T] {
	out := paged[T]{Count: count, Results: orEmpty(results)}
	link := func(n int) *string { return new(fmt.Sprintf("?page=%d&page_size=%d", n, p.size)) }
	if p.offset()+p.size < count {
		out.Next = link(p.number + 1)
	}
	if p.number > 1 {
		out.Previous = link(p.number - 1)
	}
	return out
}

// orEmpty is a list that is never null, so that clients need not look.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
