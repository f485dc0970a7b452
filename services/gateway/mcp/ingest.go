package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mneme-memory/mneme/services/gateway/chat"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// closeWait is how long the end of a session may take to be put in after its turns were.
const closeWait = 10 * time.Second

// said is one message of a conversation.
type said struct {
	Role         string          `json:"role"`
	Content      any             `json:"content"`
	Name         string          `json:"name"`
	Refusal      any             `json:"refusal"`
	ToolCalls    any             `json:"tool_calls"`
	FunctionCall any             `json:"function_call"`
	ToolCallID   json.RawMessage `json:"tool_call_id"` // not read, like the following fields
	Audio        json.RawMessage `json:"audio"`
	Annotations  json.RawMessage `json:"annotations"`
}

// turn returns the message at a place as a turn, without id and time.
func (m said) turn(at int) ingest.Turn {
	read, err := chat.Read(chat.Message{
		Role: memory.Role(m.Role), Content: m.Content, Refusal: m.Refusal, ToolCalls: m.ToolCalls,
		FunctionCall: m.FunctionCall,
	}, fmt.Sprintf("turns[%d]", at))
	turn := memory.Turn{Speaker: cmp.Or(m.Name, m.Role), Role: read.Role, Text: read.Text, Caption: read.Caption}
	return ingest.Turn{Turn: turn, Wrong: err}
}

type addInput struct {
	Text     string `json:"text"`
	Messages []said `json:"messages"`
	UserID   string `json:"user_id"`
	RunID    string `json:"run_id"`
	attributes
}

func (in addInput) check() error {
	switch {
	case in.Text == "" && in.Messages == nil:
		return problem.Invalid("text", "is missing, and messages are missing, too: want one of the two")
	case in.Text != "" && in.Messages != nil:
		return problem.Invalid("text", "is set together with messages: want one of the two")
	}
	if in.Messages == nil {
		if err := memory.ValidText("text", in.Text, memory.MaxTurnBytes); err != nil {
			return err
		}
	} else if n := len(in.Messages); n == 0 || n > ingest.MaxTurns {
		return problem.Invalid("messages", fmt.Sprintf("are %d, want 1 to %d", n, ingest.MaxTurns))
	}
	if in.UserID != "" {
		if err := memory.ValidNewUser(in.UserID); err != nil {
			return err
		}
	}
	if in.RunID != "" {
		if err := memory.ValidNewID("run_id", in.RunID, memory.MaxIDBytes); err != nil {
			return err
		}
	}
	_, err := in.read(in.RunID)
	return err
}

// argument names the argument of a field of a turn.
func (in addInput) argument(field string) string {
	rest, ok := strings.CutPrefix(field, "turns[")
	if !ok {
		return field
	}
	if in.Messages == nil {
		return "text"
	}
	place, of, _ := strings.Cut(rest, ".")
	switch of {
	case "text", "caption":
		of = "content"
	case "speaker":
		of = "name"
	}
	return strings.TrimSuffix("messages["+place+"."+of, ".")
}

// named is an error about turns in the words of the tool's arguments.
func (in addInput) named(err error) error {
	var p problem.Problem
	if errors.As(err, &p) {
		p.Field = in.argument(p.Field)
		return p
	}
	return err
}

// turns returns the turns of the addition, with the time now.
func (in addInput) turns(now time.Time) []ingest.Turn {
	of, _ := in.read(in.RunID) // checked
	out := []ingest.Turn{{Turn: memory.Turn{Speaker: string(memory.RoleUser), Role: memory.RoleUser, Text: in.Text}}}
	if in.Messages != nil {
		out = make([]ingest.Turn, len(in.Messages))
		for i, m := range in.Messages {
			out[i] = m.turn(i)
		}
	}
	for i := range out {
		out[i].ID, out[i].Time, out[i].Attributes = uuid.NewString(), now, of
	}
	return out
}

type addOutput struct {
	UserID    string   `json:"user_id"`
	SessionID string   `json:"session_id" jsonschema:"the session that the turns are of"`
	TurnIDs   []string `json:"turn_ids" jsonschema:"the turns that were accepted, in the order of the messages"`
	Forming   string   `json:"forming" jsonschema:"when memories will be formed of them"`
	// LeftOut are the messages that were not accepted.
	LeftOut []leftOutView `json:"left_out,omitempty" jsonschema:"messages that were left out, and why; nothing is kept of them"`
	// Shortened are the messages with a shortened text.
	Shortened []chat.Shortened `json:"shortened,omitempty" jsonschema:"messages of which the first and the last part are kept"`
	// NotRemembered are the valid messages without a statement of a user or an assistant.
	NotRemembered []chat.Unremembered `json:"not_remembered,omitempty" jsonschema:"messages that are not remembered, and why"`
}

type leftOutView struct {
	Message int    `json:"message" jsonschema:"the place of the message, from 0"`
	Field   string `json:"field"`
	Detail  string `json:"detail" jsonschema:"what is wrong with it"`
}

// Values of addOutput.Forming.
const (
	formingNow   = "Accepted. Memories are formed now, which takes a moment: recall and get_memories show them then."
	formingLater = "Accepted. The session goes on: memories are formed once nothing has been added to it for a while."
	formingNone  = "Accepted. No message is remembered."
)

// longText adds to the description of a text that Mneme shortens a long one.
func longText(description string) string {
	return fmt.Sprintf("%s Mneme keeps the first and the last part of a text of more than %d bytes.", description,
		memory.MaxTextBytes)
}

func (s *server) addIngestTools(to *sdk.Server, takes schemas) {
	message := object(
		word("role", "The role of the speaker. Mneme remembers only messages of users and assistants.",
			string(memory.RoleUser),
			string(memory.RoleAssistant), "system", "developer", string(memory.RoleTool), "function").needed(),
		content("content", longText("The text of the message, or its parts as chat completions have them.")),
		anything("refusal", "The refusal of the assistant, which is the text of a message without another text."),
		anything("tool_calls", "The calls of tools, which Mneme does not remember."),
		anything("function_call", "The call of a function, which Mneme does not remember."),
		anything("tool_call_id", "The call of a result, which Mneme does not remember."),
		anything("audio", "Mneme does not read it."), anything("annotations", "Mneme does not read them."),
		text("name", "The speaker's name; without it the role.", memory.MaxIDBytes))
	add(s, to, takes, tool{
		name: "add_memory", title: "Remember", effect: adds,
		does: "Adds statements of the user, so that Mneme remembers the lasting ones. Pass text, a statement of the user, " +
			"or messages, a part of a conversation. A contradiction replaces the earlier memory. A repetition makes no " +
			"second memory. Mneme leaves out an invalid message, and the result has the reason.",
		costs: "the answer comes in milliseconds, without a model. Mneme forms memories later: by rules and small " +
			"built-in models, or by several calls of a language model, if the tenant has that policy.",
		input: object(append(attributeProperties(),
			text("text", longText("The user's statement, in the user's own words. Omit it if you pass messages."),
				memory.MaxTurnBytes),
			list("messages", "The messages, oldest first. Omit them if you pass text.", ingest.MaxTurns, message),
			userID(),
			text("run_id", "The session that this is a part of, where more of it will be added. Without one it is a session "+
				"of its own, which ends at once, so that memories are formed now.", memory.MaxIDBytes))...),
	}, s.addMemory)
}

func (s *server) addMemory(ctx context.Context, in addInput) (out addOutput, _ string, err error) {
	user, err := s.user(ctx, in.UserID)
	if err != nil {
		return out, "", err
	}
	now, session := s.Now().UTC(), in.RunID
	if session == "" {
		session = "mcp-" + uuid.NewString()
	}
	turns := in.turns(now)
	outcomes, err := s.Ingest.Turns(ctx, user, session, turns)
	if err != nil {
		return out, "", in.named(err)
	}
	out = addOutput{UserID: user, SessionID: session, TurnIDs: []string{}, Forming: formingLater}
	for i, t := range turns {
		at := slices.IndexFunc(outcomes, func(o ingest.Outcome) bool { return o.Turn == i })
		if at >= 0 && outcomes[at].IsLeftOut() {
			p := outcomes[at].Problem
			out.LeftOut = append(out.LeftOut, leftOutView{i, in.argument(p.Field), p.Detail})
			continue
		}
		if at >= 0 && !outcomes[at].IsPublished() {
			out.NotRemembered = append(out.NotRemembered, chat.Unremembered{Message: i, Reason: outcomes[at].NotRemembered})
			continue
		}
		if at >= 0 {
			out.Shortened = append(out.Shortened, chat.Shortened{Message: i, By: outcomes[at].Shortened})
		}
		out.TurnIDs = append(out.TurnIDs, t.ID)
	}
	if len(out.TurnIDs) == 0 {
		out.Forming = formingNone
		return out, "", nil
	}
	if in.RunID == "" && s.closed(ctx, user, session, out.TurnIDs[len(out.TurnIDs)-1], now) {
		out.Forming = formingNow
	}
	return out, "", nil
}

// closed ends a session after its turns are published. If that fails, the turns stay and become memories later. An
// error would make the client add them twice.
func (s *server) closed(ctx context.Context, user, session, last string, now time.Time) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
	defer cancel()
	if err := s.Ingest.CloseSession(ctx, user, session, last, now); err != nil {
		s.Log.ErrorContext(ctx, "MCP: close session", "error", err)
		return false
	}
	return true
}
