package llm

import (
	"context"
	"errors"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Validity says what an answer was worth.
type Validity string

// The validities.
const (
	ValidFirst    Validity = "first"    // the first answer could be used
	ValidRepaired Validity = "repaired" // the second could, after the first had been shown its fault
	ValidPartly   Validity = "partly"   // a part of it could be used
	Invalid       Validity = "no"       // none could be used, or none came
)

// Message is one of a call.
type Message struct {
	// Role is system, user or assistant.
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Record is a question to a model with what came of it: what learning from models' decisions needs. It holds what users said.
type Record struct {
	// Scope is whose data the question is about.
	Scope memory.Scope `json:"scope"`
	At    time.Time    `json:"at"`
	Role  Role         `json:"role"`
	// Strategy is whose role it is; empty where all share it.
	Strategy string `json:"strategy,omitempty"`
	// Prompt is the version of the prompt, Model the model that was asked.
	Prompt string `json:"prompt"`
	Model  string `json:"model"`
	// Messages are all of the conversation: instructions, data, the answer, and where that was not accepted what is wrong with it and the
	// second answer.
	Messages []Message `json:"messages"`
	Valid    Validity  `json:"valid"`
	// Faults are what was wrong with the answers, in our words.
	Faults []string `json:"faults,omitempty"`
	// Error is the class of the error that the call ended with, such as truncated or timeout.
	Error string `json:"error,omitempty"`
	// InputTokens and OutputTokens are as the server counts, Milliseconds is the whole time.
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	Milliseconds float64 `json:"ms"`
	// Touch is what was decided, or cited, by ids.
	memory.Touch
}

// touching is what an answer is made into, where it has ids.
type touching interface {
	Touched(scope memory.Scope) memory.Touch
}

// recorder fills a Record; nil where nobody wants it.
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
		Scope: r.Scope, At: time.Now().UTC(), Role: r.Role, Strategy: r.Strategy, Prompt: r.Prompt, Model: c.ModelFor(r.Role), Valid: Invalid,
		Messages: []Message{{"system", r.System}, {"user", r.User}},
	}}
	return WithUsage(ctx, rec.used), rec
}

// answered notes an answer, and what is wrong with it.
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

// asked notes the question that goes with a fault.
func (r *recorder) asked(text string) {
	if r != nil {
		r.record.Messages = append(r.record.Messages, Message{"user", text})
	}
}

// end hands the record over.
func (r *recorder) end(ctx context.Context, out any, err error) {
	if r == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrBudget) { // nobody was asked, or nobody waits
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
