package llmtest

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Step is the action of the endpoint on one call.
type Step func(w http.ResponseWriter, r *http.Request, c Call)

// FakeModel answers as the built-in model does.
func FakeModel() Step {
	return func(w http.ResponseWriter, _ *http.Request, c Call) { c.answer(w, same) }
}

func same(s string) string { return s }

// Altered answers as the fake model does, with the text changed.
func Altered(change func(answer string) string) Step {
	return func(w http.ResponseWriter, _ *http.Request, c Call) { c.answer(w, change) }
}

// Text answers a chat with this text.
func Text(text string) Step { return Altered(func(string) string { return text }) }

// Reply answers a chat with the result of f for the call.
func Reply(f func(Call) string) Step {
	return func(w http.ResponseWriter, _ *http.Request, c Call) { writeChoice(w, c, f(c), "stop", "") }
}

// Prose answers as the fake model does, in a code fence between sentences.
func Prose() Step {
	return Altered(func(a string) string {
		return "Sure {happy to help}! Here it is:\n```json\n" + a + "\n```\nAnything else? {}"
	})
}

// Truncated breaks the fake model's answer off in the middle, as a token limit does.
func Truncated() Step {
	return func(w http.ResponseWriter, _ *http.Request, c Call) {
		a := fakeAnswer(c)
		writeChoice(w, c, a[:len(a)/2], "length", "")
	}
}

// Refusal declines to answer.
func Refusal() Step {
	return func(w http.ResponseWriter, _ *http.Request, c Call) {
		writeChoice(w, c, "", "stop", "I cannot help with that.")
	}
}

// Filtered answers as a content filter does.
func Filtered() Step {
	return func(w http.ResponseWriter, _ *http.Request, c Call) { writeChoice(w, c, "", "content_filter", "") }
}

// EmptyText answers with no text.
func EmptyText() Step { return Text("") }

// NoChoices answers without a choice, or without a vector.
func NoChoices() Step {
	return Body(`{"id":"x","object":"chat.completion","model":"scripted","choices":[],"data":[]}`)
}

// Body answers with this JSON body.
func Body(json string) Step {
	return func(w http.ResponseWriter, _ *http.Request, _ Call) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(json)) // the client may have left
	}
}

// Status fails with a status and OpenAI's error body.
func Status(status int) Step {
	return func(w http.ResponseWriter, _ *http.Request, _ Call) {
		writeError(w, status, "", "scripted_"+strconv.Itoa(status), "scripted failure")
	}
}

// PlainStatus fails with a status and a body of text.
func PlainStatus(status int, text string) Step {
	return func(w http.ResponseWriter, _ *http.Request, _ Call) { http.Error(w, text, status) }
}

// RateLimited fails with 429 and a Retry-After header.
func RateLimited(retryAfter string) Step {
	return func(w http.ResponseWriter, _ *http.Request, _ Call) {
		w.Header().Set("Retry-After", retryAfter)
		writeError(w, http.StatusTooManyRequests, "", "rate_limit_exceeded", "slow down")
	}
}

// Drop closes the connection without an answer.
func Drop() Step {
	return func(http.ResponseWriter, *http.Request, Call) { panic(http.ErrAbortHandler) }
}

// Hold waits until release is closed or the client has gone, then does the step.
func Hold(release <-chan struct{}, then Step) Step {
	return func(w http.ResponseWriter, r *http.Request, c Call) {
		select {
		case <-release:
			then(w, r, c)
		case <-r.Context().Done():
		}
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have left
}

func writeError(w http.ResponseWriter, status int, param, code, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{
		"message": message, "type": "invalid_request_error", "param": param, "code": code,
	}})
}

// writeChoice writes a completion. It counts four bytes as a token.
func writeChoice(w http.ResponseWriter, c Call, text, finish, refusal string) {
	message := map[string]any{"role": "assistant", "content": text}
	if refusal != "" {
		message["content"], message["refusal"] = nil, refusal
	}
	in, out := len(c.Raw)/4, len(text)/4
	writeJSON(w, http.StatusOK, map[string]any{
		"id": "chatcmpl-scripted", "object": "chat.completion", "created": 1, "model": c.Model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": message}},
		"usage":   map[string]any{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out},
	})
}

// answer gives the answer of the fake model, for chats and embeddings.
func (c Call) answer(w http.ResponseWriter, change func(string) string) {
	if c.Role == "embedding" || c.Input != nil {
		writeEmbeddings(w, c)
		return
	}
	writeChoice(w, c, change(fakeAnswer(c)), "stop", "")
}
