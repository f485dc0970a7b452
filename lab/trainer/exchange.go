package trainer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// errPending is the error of a former with a request that has no answer yet.
var errPending = errors.New("an answer is pending")

// repairing is the way to answer a repair without an answer.
type repairing int

const (
	// repairByStandIn lets the stand-in repair. 0 makes the repair pending for the trainer.
	repairByStandIn repairing = iota + 1
	// repairFails returns an empty answer.
	repairFails
)

// exchange answers the formers of one life. Parallel roles must not end each other: otherwise the first failure would
// choose the pending requests. So the stand-in answers a request without an answer, with a valid answer. After that,
// the result of the former's call does not count. It is safe for concurrent use.
type exchange struct {
	mu      sync.Mutex
	answers map[string]string // by request id
	// fill lets the stand-in answer all requests without an answer, for good.
	fill   bool
	repair repairing
	// calls counts the calls of filter and former. The same question in another call is a different question.
	calls int

	// The next fields belong to the present call.

	deciding bool
	missing  []*mnemev1.PendingRequest
	standIn  map[string]bool // ids of the stand-in's answers
	failed   bool            // an answer of the trainer ended a question

	// given are the texts by question, for any call: a retried session gets the same texts.
	given map[string]string
	// valid has the request ids of usable first answers.
	valid map[string]bool
}

func newExchange(history []*mnemev1.Answer) *exchange {
	x := &exchange{answers: map[string]string{}, given: map[string]string{}, valid: map[string]bool{}}
	for _, a := range history {
		x.answers[a.GetRequestId()] = a.GetText()
	}
	return x
}

// filled returns an exchange from a call on, with further answers and no pending requests.
func (x *exchange) filled(calls int, answers []*mnemev1.Answer, repair repairing) *exchange {
	out := newExchange(answers)
	out.fill, out.repair, out.calls = true, repair, calls
	for id, text := range x.answers {
		if _, ok := out.answers[id]; !ok {
			out.answers[id] = text
		}
	}
	return out
}

type exchangeKey struct{}

func (x *exchange) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// called runs a call of a filter or former. It returns errPending in place of a result from the stand-in's answers. A
// failure by the trainer's answer comes first. Then further requests do not belong to the session.
func called[T any](ctx context.Context, deciding bool, do func() (T, error)) (T, error) {
	x := exchangeOf(ctx)
	x.mu.Lock()
	x.calls++
	x.deciding, x.missing, x.standIn, x.failed = deciding, nil, map[string]bool{}, false
	x.mu.Unlock()
	out, err := do()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.missing) > 0 && (err == nil || !x.failed) {
		var none T
		return none, errPending
	}
	return out, err
}

// pending returns the requests without an answer, in an order that does not depend on the order of the calls.
func (x *exchange) pending() []*mnemev1.PendingRequest {
	slices.SortFunc(x.missing, func(a, b *mnemev1.PendingRequest) int {
		return cmp.Or(cmp.Compare(a.GetRole(), b.GetRole()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return x.missing
}

// question names a question; id names it in a call.
func question(role llm.Role, messages []llm.Message) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q", role)
	for _, m := range messages {
		fmt.Fprintf(h, "%q%q", m.Role, m.Content)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

func (x *exchange) id(question string) string { return fmt.Sprintf("%d-%s", x.calls, question) }

// answer returns the answer to a call of the model.
func (x *exchange) answer(c llmtest.Call) string {
	messages := make([]llm.Message, len(c.Messages))
	for i, m := range c.Messages {
		messages[i] = llm.Message{Role: m.Role, Content: m.Content}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	asked := question(c.Role, messages)
	id := x.id(asked)
	if text, ok := x.answers[id]; ok {
		x.given[asked] = text
		return text
	}
	if x.fill {
		if text, ok := x.given[asked]; ok {
			return text
		}
		if c.IsRepair() && x.repair == repairFails {
			return ""
		}
		return llmtest.Answer(c)
	}
	if !x.follows(c, messages) {
		r := &mnemev1.PendingRequest{Id: id, Role: string(c.Role), Schema: string(c.ResponseFormat.JSONSchema.Schema)}
		for _, m := range messages {
			r.Messages = append(r.Messages, &mnemev1.ChatMessage{Role: m.Role, Content: m.Content})
		}
		x.missing = append(x.missing, r)
	}
	x.standIn[id] = true
	return llmtest.Answer(c)
}

// follows reports whether a question follows from an answer of the stand-in: it repairs one, or decides after one of
// its role. An extraction or a rating never depends on other answers.
func (x *exchange) follows(c llmtest.Call, messages []llm.Message) bool {
	if c.IsRepair() && x.standIn[x.id(question(c.Role, messages[:2]))] {
		return true
	}
	return x.deciding && slices.ContainsFunc(x.missing, func(r *mnemev1.PendingRequest) bool {
		return r.GetRole() == string(c.Role)
	})
}

// record notes the end of a question.
func (x *exchange) record(r llm.Record) {
	x.mu.Lock()
	defer x.mu.Unlock()
	byStandIn := false
	for n := 2; n <= len(r.Messages); n += 2 {
		id := x.id(question(r.Role, r.Messages[:n]))
		byStandIn = byStandIn || x.standIn[id]
		for _, m := range x.missing {
			if m.GetId() == id {
				m.PromptVersion = r.Prompt
			}
		}
	}
	if r.Error != "" && !byStandIn {
		x.failed = true
	}
	if r.Valid == llm.ValidFirst && len(r.Messages) >= 2 {
		x.valid[x.id(question(r.Role, r.Messages[:2]))] = true
	}
}

// allValid reports whether the first answers to all of some questions were usable.
func (x *exchange) allValid(ids []string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		if !x.valid[id] {
			return false
		}
	}
	return true
}

// transport carries the client's requests to the exchange of their context.
type transport struct{}

// RoundTrip implements http.RoundTripper.
func (transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c := llmtest.Call{Role: llm.Role(r.Header.Get(llm.RoleHeader))}
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, err
	}
	answer, err := json.Marshal(map[string]any{
		"id": "answer", "object": "chat.completion", "model": c.Model,
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant",
				"content": exchangeOf(r.Context()).answer(c)},
		}},
	})
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)),
		ContentLength: int64(len(answer)),
	}, err
}

// former passes a former's calls to the exchange of their context.
type former struct{ formation.Former }

var _ formation.Reader = former{}

// Reads implements formation.Reader.
func (f former) Reads() int {
	if r, ok := f.Former.(formation.Reader); ok {
		return r.Reads()
	}
	return 0
}

// Extract implements formation.Former.
func (f former) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	return called(ctx, false, func() ([]formation.Candidate, error) { return f.Former.Extract(ctx, in) })
}

// Decide implements formation.Former.
func (f former) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	return called(ctx, true, func() (formation.Verdict, error) { return f.Former.Decide(ctx, in) })
}

// filter does the same for a filter. In a service, turns that the filter fails on go to the dead letters. Here no
// memory is formed of them.
type filter struct{ inner formation.Filter }

// Filter implements formation.Filter.
func (f filter) Filter(
	ctx context.Context, s memory.Scope, turns, before []memory.Turn,
) ([]memory.SaliencyDecision, error) {
	out, err := called(ctx, false, func() ([]memory.SaliencyDecision, error) {
		return f.inner.Filter(ctx, s, turns, before)
	})
	if errors.Is(err, fault.ErrUnusableAnswer) {
		return make([]memory.SaliencyDecision, len(turns)), nil
	}
	return out, err
}
