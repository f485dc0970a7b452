package llm

import (
	"context"
	"errors"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Validity says whether an answer was usable.
type Validity string

// The validities.
const (
	ValidFirst    Validity = "first"    // the first answer was usable
	ValidRepaired Validity = "repaired" // the second answer was usable, after the model saw the fault of the first
	ValidPartly   Validity = "partly"   // a part of an answer was usable
	Invalid       Validity = "no"       // no answer was usable, or no answer came
)

// Message is one message of a call.
type Message struct {
	// Role is system, user or assistant.
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Record is a question to a model with its result. Training on decisions of models uses it. It contains texts of
// users.
type Record struct {
	// Scope is the owner of the data in the question.
	Scope memory.Scope `json:"scope"`
	At    time.Time    `json:"at"`
	Role  Role         `json:"role"`
	// Strategy is the strategy that has the role. It is empty for a role that all share.
	Strategy string `json:"strategy,omitempty"`
	// Prompt is the version of the prompt. Model is the model that answered.
	Prompt string `json:"prompt"`
	Model  string `json:"model"`
	// Messages are the whole conversation: instructions, data and the answer. For a rejected answer its fault and
	// the second answer follow.
	Messages []Message `json:"messages"`
	Valid    Validity  `json:"valid"`
	// Faults are the faults of the answers, in words of this package.
	Faults []string `json:"faults,omitempty"`
	// Error is the class of the error that the call ended with, such as truncated or timeout.
	Error string `json:"error,omitempty"`
	// InputTokens and OutputTokens are the server's counts. Milliseconds is the total time.
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	Milliseconds float64 `json:"ms"`
	// Touch lists the ids that the answer decides on, or cites.
	memory.Touch
}

// touching is the type of an answer with ids.
type touching interface {
	Touched(scope memory.Scope) memory.Touch
}

// recorder fills a Record. It is nil where recording is off.
type recorder struct {
	client *Client
	record Record
	used   *Usage
	began  time.Time
}

// recording begins a record of a call. The returned context counts its tokens.
func (c *Client) recording(ctx context.Context, r Request) (context.Context, *recorder) {
	if c.record == nil || r.Scope.User == "" {
		return ctx, nil
	}
	rec := &recorder{client: c, used: new(Usage), began: time.Now(), record: Record{
		Scope: r.Scope, At: time.Now().UTC(), Role: r.Role, Strategy: r.Strategy, Prompt: r.Prompt,
		Model: c.ModelFor(r.Role), Valid: Invalid, Messages: []Message{{"system", r.System}, {"user", r.User}},
	}}
	return WithUsage(ctx, rec.used), rec
}

// answered records an answer and its fault.
func (r *recorder) answered(text string, fault error) {
	if r == nil {
		return
	}
	r.record.Messages = append(r.record.Messages, Message{"assistant", text})
	switch {
	case fault == nil && len(r.record.Faults) == 0:
		r.record.Valid = ValidFirst
	case fault == nil:
		r.record.Valid = ValidRepaired
	default:
		r.record.Faults = append(r.record.Faults, fault.Error())
		if structured.IsPartly(fault) {
			r.record.Valid = ValidPartly
		}
	}
}

// asked records the repair question for a fault.
func (r *recorder) asked(text string) {
	if r != nil {
		r.record.Messages = append(r.record.Messages, Message{"user", text})
	}
}

// end passes the record on.
func (r *recorder) end(ctx context.Context, out any, err error) {
	// no request was sent, or the caller left
	if r == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrBudget) {
		return
	}
	if err != nil {
		r.record.Error = errorClass(err)
		r.record.Valid = Invalid
	}
	switch made := out.(type) {
	case touching:
		r.record.Touch = made.Touched(r.record.Scope)
	case []memory.Operation:
		r.record.Touch = memory.Touched(r.record.Scope, made)
	}
	r.record.InputTokens, r.record.OutputTokens = r.used.InputTokens(), r.used.OutputTokens()
	r.record.Milliseconds = float64(time.Since(r.began).Microseconds()) / 1000
	r.client.record(context.WithoutCancel(ctx), r.record)
}
