package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Media types of bodies.
const (
	jsonType  = "application/json"
	linesType = "application/x-ndjson"
)

// maxShown is how much of a name that is not known an error shows, in bytes.
const maxShown = 64

// mediaOf returns the media type of a body, which must be one of the wanted types. Without a header it is the first
// of these.
func mediaOf(h http.Header, want *huma.RequestBody) (string, error) {
	known := slices.Sorted(maps.Keys(want.Content))
	header := h.Get("Content-Type")
	if header == "" {
		return known[0], nil
	}
	media, _, err := mime.ParseMediaType(header)
	if err != nil || !slices.Contains(known, media) {
		return "", located{problem.Problem{
			Status: http.StatusUnsupportedMediaType, Code: problem.CodeMediaType, Field: "Content-Type",
			Detail: "is not supported, want " + strings.Join(known, ", "),
		}, inHeader}
	}
	return media, nil
}

// checkParameters checks a request's path, query and headers against an operation's description. It rewrites UUIDs
// of the path in their stored form. Its errors are problems that name the parameter.
func checkParameters(op *huma.Operation, r *http.Request) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid(inQuery, "query", "is not percent-encoded name=value pairs")
	}
	for name := range values {
		if !slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == inQuery && p.Name == name }) {
			return invalid(inQuery, shown(name), "is unknown")
		}
	}
	for _, p := range op.Parameters {
		var given []string
		switch p.In {
		case inPath:
			given = []string{r.PathValue(p.Name)}
			if p.Schema.Format == "uuid" {
				r.SetPathValue(p.Name, memory.CanonicalID(given[0]))
			}
		case inQuery:
			given = values[p.Name]
		case inHeader:
			given = r.Header.Values(p.Name)
		}
		if err := checkParameter(p, given); err != nil {
			return err
		}
	}
	return nil
}

func checkParameter(p *huma.Param, given []string) error {
	schema := p.Schema
	if len(given) == 0 {
		if p.Required {
			return invalid(p.In, p.Name, "is missing")
		}
		return nil
	}
	if schema.Type == huma.TypeArray {
		if schema.MaxItems != nil && len(given) > *schema.MaxItems {
			return invalid(p.In, p.Name, fmt.Sprintf("occurs %d times, want at most %d", len(given), *schema.MaxItems))
		}
		schema = schema.Items
	} else if len(given) > 1 && p.In != inHeader {
		return invalid(p.In, p.Name, "occurs several times, want one")
	}
	for _, v := range given {
		var value any = v
		if schema.Type == huma.TypeInteger {
			if n, err := strconv.ParseInt(v, 10, 64); err != nil || strconv.FormatInt(n, 10) != v {
				return invalid(p.In, p.Name, "is not a whole number")
			}
			value = json.Number(v)
		}
		if wrong := scalar(schema, value); wrong != "" {
			return invalid(p.In, p.Name, wrong)
		}
	}
	return nil
}

// checkBody checks a body of valid JSON against its schema, token by token. It never builds unwanted parts in
// memory. Its errors are problems that name the field.
func checkBody(known huma.Registry, schema *huma.Schema, body []byte) error {
	tokens := json.NewDecoder(bytes.NewReader(body))
	tokens.UseNumber()
	return (&bodyCheck{known: known, tokens: tokens}).value(schema, "")
}

// oneByOne is the extension of a list with entries that are accepted one by one. This file checks only the types of
// their texts. A value that is not accepted concerns its entry alone.
const oneByOne = "x-accepted-one-by-one"

type bodyCheck struct {
	known  huma.Registry
	tokens *json.Decoder
	// typesOnly says that the values of texts are checked elsewhere.
	typesOnly bool
}

// value checks the next value, which is at a place in the body.
func (c *bodyCheck) value(s *huma.Schema, place string) error {
	for s.Ref != "" {
		s = c.known.SchemaFromRef(s.Ref)
	}
	token, err := c.tokens.Token()
	if err != nil {
		return located{problem.Malformed(place, "is not valid JSON"), inBody}
	}
	switch {
	case isAnything(s) && token != json.Delim('{') && token != json.Delim('['):
		return nil
	case isAnything(s), isFree(s) && token == json.Delim('{'):
		return c.skip(place)
	case s.Type == huma.TypeObject && token == json.Delim('{'):
		return c.object(s, place)
	case s.Type == huma.TypeArray && token == json.Delim('['):
		return c.array(s, place)
	}
	if _, isText := token.(string); isText && c.typesOnly && s.Type == huma.TypeString && s.Format == "" {
		return nil
	}
	wrong := scalar(s, token)
	if wrong == "" {
		return nil
	}
	if place == "" {
		place = inBody
	}
	return invalid(inBody, place, wrong)
}

func (c *bodyCheck) object(s *huma.Schema, place string) error {
	var seen []string
	for c.tokens.More() {
		token, err := c.tokens.Token()
		name, _ := token.(string)
		if err != nil {
			return located{problem.Malformed(place, "is not valid JSON"), inBody}
		}
		of, ok := s.Properties[name]
		if !ok {
			return invalid(inBody, joinPath(place, shown(name)), "is unknown")
		}
		seen = append(seen, name)
		if err := c.value(of, joinPath(place, name)); err != nil {
			return err
		}
	}
	for _, name := range s.Required {
		if !slices.Contains(seen, name) {
			return invalid(inBody, joinPath(place, name), "is missing")
		}
	}
	_, err := c.tokens.Token() // the end
	return err
}

// skip passes over the rest of an object or a list that holds anything.
func (c *bodyCheck) skip(place string) error {
	for depth := 1; depth > 0; {
		token, err := c.tokens.Token()
		if err != nil {
			return located{problem.Malformed(place, "is not valid JSON"), inBody}
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}

func (c *bodyCheck) array(s *huma.Schema, place string) error {
	if s.Extensions[oneByOne] == true {
		c.typesOnly = true
		defer func() { c.typesOnly = false }()
	}
	n := 0
	for ; c.tokens.More(); n++ {
		if s.MaxItems != nil && n >= *s.MaxItems {
			return invalid(inBody, place, fmt.Sprintf("has more than %d entries", *s.MaxItems))
		}
		if err := c.value(s.Items, fmt.Sprintf("%s[%d]", place, n)); err != nil {
			return err
		}
	}
	if s.MinItems != nil && n < *s.MinItems {
		return invalid(inBody, place, fmt.Sprintf("has %d entries, want at least %d", n, *s.MinItems))
	}
	_, err := c.tokens.Token() // the end
	return err
}

func joinPath(place, name string) string {
	if place == "" {
		return name
	}
	return place + "." + name
}

// shown is a name that a client made up, fit to be repeated.
func shown(name string) string { return cut(name, maxShown) }

// cut is a text of at most limit bytes.
func cut(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "?")
}

// scalar describes the error of a value from a JSON token. It is empty if the value is valid.
func scalar(s *huma.Schema, value any) string {
	if value == nil {
		return "is null; leave it out instead"
	}
	switch s.Type {
	case huma.TypeString:
		if v, ok := value.(string); ok {
			return textFault(s, v)
		}
		return "is not a string"
	case huma.TypeInteger:
		if v, ok := value.(json.Number); ok {
			return numberFault(s, v)
		}
		return "is not a whole number"
	case huma.TypeBoolean:
		if _, ok := value.(bool); !ok {
			return "is not true or false"
		}
		return ""
	case huma.TypeArray:
		return "is not a list"
	}
	return "is not an object"
}

func numberFault(s *huma.Schema, v json.Number) string {
	n, err := wholeNumber(v)
	if err != nil {
		return err.Error()
	}
	if s.Minimum != nil && s.Maximum != nil && (float64(n) < *s.Minimum || float64(n) > *s.Maximum) {
		return fmt.Sprintf("is %d, want %.0f to %.0f", n, *s.Minimum, *s.Maximum)
	}
	return ""
}

func textFault(s *huma.Schema, v string) string {
	if limit, ok := s.Extensions[maxBytes].(int); ok {
		return faultOf(memory.ValidText("", v, limit))
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, any(v)) {
		return "is " + strconv.Quote(shown(v)) + ", want " + choice(s.Enum)
	}
	length := utf8.RuneCountInString(v)
	if s.MinLength != nil && s.MaxLength != nil && (length < *s.MinLength || length > *s.MaxLength) {
		return fmt.Sprintf("has %d characters, want %d to %d", length, *s.MinLength, *s.MaxLength)
	}
	if p := compiled[s.Pattern]; p != nil && !p.MatchString(v) {
		return "is not of the form " + s.Pattern
	}
	switch s.Format {
	case "date-time":
		if _, err := time.Parse(time.RFC3339, v); err != nil {
			return "is not a time such as 2026-11-25T10:00:00Z"
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, v); err != nil {
			return "is not a day such as 2026-11-25"
		}
	}
	return ""
}

func faultOf(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), fault.Field(err)+": ")
}

func choice(enum []any) string {
	out := make([]string, len(enum))
	for i, e := range enum {
		out[i] = fmt.Sprint(e)
	}
	return strings.Join(out, ", ")
}
