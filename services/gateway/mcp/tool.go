package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
)

// effect is a tool's effect on the user's memory. No tool has an effect outside Mneme.
type effect int

const (
	// reads changes nothing.
	reads effect = iota
	// adds changes nothing that is there.
	adds
	// replaces replaces or removes the current value. A repeated call changes nothing more.
	replaces
)

func (e effect) annotations(title string) *sdk.ToolAnnotations {
	destructive, open := e == replaces, false
	return &sdk.ToolAnnotations{
		Title: title, ReadOnlyHint: e == reads, DestructiveHint: &destructive, IdempotentHint: e != adds,
		OpenWorldHint: &open,
	}
}

// tool is the description of a tool for clients.
type tool struct {
	name, title string
	// does describes the tool's action. costs describes the model calls and the time of a call.
	does, costs string
	effect      effect
	input       schema
}

// arguments are the arguments of a tool.
type arguments interface {
	// check returns an error that names the argument at fault.
	check() error
}

// add adds a tool. call returns the answer for programs, and the text for models if it differs from the JSON.
func add[In arguments, Out any](
	s *server, to *sdk.Server, takes schemas, t tool, call func(context.Context, In) (Out, string, error),
) {
	takes[t.name] = t.input
	sdk.AddTool(to, &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.does + " Cost: " + t.costs, Annotations: t.effect.annotations(t.title),
		InputSchema: schema{"type": "object"},
	}, func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, Out, error) {
		var out Out
		var text string
		err := checkScopes(ctx, t.name)
		if err == nil {
			var in In
			if in, err = decode[In](req.Params.Arguments); err == nil {
				out, text, err = call(ctx, in)
			}
		}
		if err != nil {
			return nil, out, errors.New(problemText(s.problem(ctx, t.name, err)))
		}
		if text == "" {
			return nil, out, nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, out, nil
	})
}

// tell makes a call of a service, and returns the view of its answer. The text for models is the JSON of the view.
func tell[Q, A, Out any](
	ctx context.Context, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), question *Q,
	view func(*A) Out,
) (out Out, text string, err error) {
	res, err := backend.Ask(ctx, call, question)
	if err != nil {
		return out, "", err
	}
	return view(res), "", nil
}

// decode reads arguments; its errors are problems that name the argument.
func decode[In arguments](given json.RawMessage) (in In, err error) {
	if len(given) == 0 {
		given = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(given))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, argumentError(err)
	}
	return in, in.check()
}

const unknownField = `json: unknown field "`

func argumentError(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		value, _, _ := strings.Cut(wrong.Value, " ") // without the number itself
		return problem.Invalid(wrong.Field, fmt.Sprintf("is a JSON %s, want %s", value, jsonName(wrong)))
	case strings.HasPrefix(err.Error(), unknownField):
		name := strings.TrimSuffix(strings.TrimPrefix(err.Error(), unknownField), `"`)
		return problem.Invalid(shortened(name), "is not an argument of this tool")
	}
	return problem.Invalid("arguments", "are not a JSON object")
}

// jsonName returns JSON's name of the wanted type.
func jsonName(e *json.UnmarshalTypeError) string {
	switch e.Type.String() {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "int":
		return "a whole number of usual size"
	}
	if strings.HasPrefix(e.Type.String(), "[]") {
		return "a list"
	}
	return "an object"
}

const maxShown = 64

// shortened cuts a long name of a client.
func shortened(name string) string {
	if len(name) <= maxShown {
		return name
	}
	return strings.ToValidUTF8(name[:maxShown], "") + "..."
}

// Scopes returns the required scopes of each tool, resource and prompt, by name. An entry that any key may use has
// no scopes. The services behind the gateway check the scopes again.
func Scopes() map[string][]access.Scope {
	recall, read, erase := []access.Scope{access.Recall}, []access.Scope{access.Read}, []access.Scope{access.Erase}
	return map[string][]access.Scope{
		"add_memory": {access.Ingest}, "search_memories": recall, "recall": recall, "answer": recall, "why": read,
		"get_memories": read, "get_memory": read, "get_memory_history": read, "list_entities": {},
		"update_memory": erase, "delete_memory": erase, "delete_all_memories": erase, "delete_entities": erase,
		"mneme://users/{id}/profile": recall, "mneme://users/{id}/core": read, "with_memory": recall,
	}
}

// checkScopes returns an error where the caller lacks a scope of a tool or a prompt. A call checks the scopes before
// its arguments, so that a refusal tells nothing of the arguments. Over standard input, the called gateway knows the
// caller, and checks the scopes alone.
func checkScopes(ctx context.Context, name string) error {
	p, ok := access.FromContext(ctx)
	if !ok {
		return nil
	}
	for _, s := range Scopes()[name] {
		if err := backend.Check(ctx, s, p.User); err != nil {
			return err
		}
	}
	return nil
}
