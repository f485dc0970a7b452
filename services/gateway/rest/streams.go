package rest

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mneme-memory/mneme/shared/access"
)

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
