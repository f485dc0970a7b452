package rest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // of the page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

const description = `The gateway's own API to the long-term memory of assistants.

The API key names the tenant. It comes as ` + "`Authorization: Bearer KEY`" + `.

You choose the identifiers of end users, sessions and turns. They are segments of paths, and percent-encoded there.
A new identifier must consist of visible characters. ` + "`.` and `..`" + ` are refused.

The ` + "`security`" + ` of an operation names the scopes that its key needs. ` + "`x-scopes-if`" + ` names scopes that only
some requests need. ` + "`x-scopes`" + ` names the scopes of the operations of the gateway's other APIs.

Errors are problems after RFC 9457: ` + "`code`" + ` is for programs, and ` + "`errors`" + ` names the wrong fields. An unknown
field or query parameter is refused. So is null: leave out an absent value. Limits of texts count bytes in UTF-8. A body
has at most 8 MiB, without compression. In a list with ` + "`x-accepted-one-by-one`" + `, each entry is accepted or left out
by itself. Every answer has an ` + "`X-Request-Id`" + `.`

// Tags of operations.
const (
	tagTurns    = "Turns"
	tagRecall   = "Recall"
	tagMemories = "Memories"
	tagUsers    = "Users"
	tagVerbatim = "Verbatim"
	tagTenant   = "Tenant"
	tagWebhooks = "Webhooks"
)

func tags() []*huma.Tag {
	return []*huma.Tag{
		{Name: tagTurns, Description: "Turns and sessions, and their processing."},
		{Name: tagRecall, Description: "Memories that matter for a query."},
		{Name: tagMemories, Description: "Stored memories."},
		{Name: tagUsers, Description: "All data of a user."},
		{
			Name: tagVerbatim, Description: "Items that agent frameworks store word for word and read at once. Mneme makes no " +
				"memories of them.",
		},
		{Name: tagTenant, Description: "Management of the tenant."},
		{Name: tagWebhooks, Description: "Endpoints of the tenant that receive changes of memory."},
	}
}

//go:embed docs.html
var page string

//go:embed docs.css
var style string

// public serves the description of the API, as JSON and for people. Both are made once.
func public(api *huma.OpenAPI) (http.Handler, error) {
	description, err := json.Marshal(api)
	if err != nil {
		return nil, fmt.Errorf("encode the OpenAPI description: %w", err)
	}
	docs, err := render(api)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	r := newRouter()
	r.HandleFunc("GET /openapi.json", static("application/json", "default-src 'none'", description))
	r.HandleFunc("GET /docs", static("text/html; charset=utf-8", policy, docs))
	return r, nil
}

func static(media, policy string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(body) // the client has gone
	}
}

// group is the operations of a tag, as the page shows them.
type group struct {
	Tag        *huma.Tag
	Operations []shownOperation
}

type shownOperation struct {
	*huma.Operation
	Body      []shownField
	Responses []shownResponse
}

type shownResponse struct {
	Status, Description string
	Fields              []shownField
}

// shownField is a field of a body. The fields of its parts follow it, one level deeper.
type shownField struct {
	Depth          int
	Name, Type     string
	Required       bool
	Description    string
	Enum, MinToMax string
}

func render(api *huma.OpenAPI) ([]byte, error) {
	t, err := template.New("docs").Funcs(template.FuncMap{"prose": prose}).Parse(page)
	if err != nil {
		return nil, fmt.Errorf("page of the API: %w", err)
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{
		"Info": api.Info, "Groups": groups(api), "Style": template.CSS(style), //nolint:gosec // our own
		"Paragraphs": strings.Split(api.Info.Description, "\n\n"),
	})
	if err != nil {
		return nil, fmt.Errorf("page of the API: %w", err)
	}
	return out.Bytes(), nil
}

// prose is a text in which backquotes are around code.
func prose(text string) template.HTML {
	parts := strings.Split(template.HTMLEscapeString(text), "`")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "<code>" + parts[i] + "</code>"
	}
	return template.HTML(strings.Join(parts, "")) //nolint:gosec // escaped
}

func groups(api *huma.OpenAPI) []group {
	out := make([]group, len(api.Tags))
	for i, tag := range api.Tags {
		out[i].Tag = tag
	}
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		item := api.Paths[path]
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			at := slices.IndexFunc(out, func(g group) bool { return g.Tag.Name == op.Tags[0] })
			out[at].Operations = append(out[at].Operations, shownOf(api, op))
		}
	}
	return out
}

func shownOf(api *huma.OpenAPI, op *huma.Operation) shownOperation {
	out := shownOperation{Operation: op}
	if op.RequestBody != nil {
		if media := op.RequestBody.Content[jsonType]; media != nil {
			out.Body = fields(api, media.Schema, 0)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		r := shownResponse{Status: status, Description: op.Responses[status].Description}
		if media := op.Responses[status].Content[jsonType]; media != nil {
			r.Fields = fields(api, media.Schema, 0)
		}
		out.Responses = append(out.Responses, r)
	}
	return out
}

// fields lists the fields of an object, and of its members. No schema of the API holds itself.
func fields(api *huma.OpenAPI, s *huma.Schema, depth int) []shownField {
	s = resolve(api, s)
	if s.Type == huma.TypeArray {
		return fields(api, s.Items, depth)
	}
	names := slices.SortedFunc(maps.Keys(s.Properties), func(a, b string) int {
		if ra, rb := slices.Contains(s.Required, a), slices.Contains(s.Required, b); ra != rb {
			return map[bool]int{true: -1, false: 1}[ra]
		}
		return strings.Compare(a, b)
	})
	var out []shownField
	for _, name := range names {
		p := s.Properties[name]
		r := resolve(api, p)
		f := shownField{Depth: depth, Name: name, Type: typeOf(api, r), Required: slices.Contains(s.Required, name),
			Description: cmp.Or(p.Description, r.Description)}
		f.Enum, f.MinToMax = limits(r)
		out = append(append(out, f), fields(api, p, depth+1)...)
	}
	return out
}

func limits(s *huma.Schema) (enum, minToMax string) {
	if s.Type == huma.TypeArray {
		enum, _ = limits(s.Items)
		if s.MinItems != nil && s.MaxItems != nil {
			minToMax = fmt.Sprintf("%d to %d entries", *s.MinItems, *s.MaxItems)
		} else if s.MaxItems != nil {
			minToMax = fmt.Sprintf("up to %d entries", *s.MaxItems)
		}
		return enum, minToMax
	}
	if s.Minimum != nil && s.Maximum != nil {
		minToMax = fmt.Sprintf("%.0f to %.0f", *s.Minimum, *s.Maximum)
	}
	if len(s.Enum) > 0 {
		enum = choice(s.Enum)
	}
	return enum, minToMax
}

func typeOf(api *huma.OpenAPI, s *huma.Schema) string {
	switch {
	case s.Type == huma.TypeArray:
		return "list of " + typeOf(api, resolve(api, s.Items))
	case s.Format == "date-time":
		return "time"
	case s.Format == "date":
		return "day"
	}
	return s.Type
}

func resolve(api *huma.OpenAPI, s *huma.Schema) *huma.Schema {
	for s.Ref != "" {
		s = api.Components.Schemas.SchemaFromRef(s.Ref)
	}
	return s
}

// schemaOf is the schema of a type, by reference.
func schemaOf[T any](api huma.API, name string) *huma.Schema {
	return api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, name)
}
