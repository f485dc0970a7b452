package modelcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/model/llm"
)

// seen records the endpoint's responses during a case. The client's errors do not hold these facts. Each field but
// thinks describes the last response.
type seen struct {
	mu       sync.Mutex
	status   int    // 0 without a response
	foreign  bool   // a success status without JSON
	filtered bool   // a content filter ended the answer
	thinks   bool   // an answer contains thoughts or a field of thoughts
	text     string // the answer's text
}

type seenKey struct{}

// watched returns a context whose requests record their responses in s.
func watched(ctx context.Context, s *seen) context.Context {
	return context.WithValue(ctx, seenKey{}, s)
}

// watch is a transport that records responses.
type watch struct{ *http.Transport }

func newWatch(idle int) watch {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if d, ok := http.DefaultTransport.(*http.Transport); ok {
		t = d.Clone()
	}
	t.MaxIdleConnsPerHost = idle
	return watch{t}
}

// maxSeen limits the inspected part of a response, in bytes.
const maxSeen = 1 << 20

// RoundTrip implements http.RoundTripper.
func (w watch) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := w.Transport.RoundTrip(req)
	s, ok := req.Context().Value(seenKey{}).(*seen)
	if !ok {
		return res, err
	}
	if err != nil {
		s.note(0, nil)
		return res, err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxSeen))
	if err == nil {
		s.note(res.StatusCode, body)
	}
	res.Body = struct { // the client reads the same bytes, then the rest or the error
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), res.Body), res.Body}
	return res, nil
}

func (s *seen) note(status int, body []byte) {
	var answer struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct {
				Content          json.RawMessage `json:"content"`
				Reasoning        string          `json:"reasoning"`
				ReasoningContent string          `json:"reasoning_content"`
			} `json:"message"`
		} `json:"choices"`
	}
	err := json.Unmarshal(body, &answer)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.text, s.filtered = status, "", false
	s.foreign = status == http.StatusOK && err != nil && !json.Valid(body)
	if err != nil || len(answer.Choices) == 0 {
		return
	}
	c := answer.Choices[0]
	s.text, s.filtered = text(c.Message.Content), c.FinishReason == contentFilter
	s.thinks = s.thinks || c.Message.Reasoning != "" || c.Message.ReasoningContent != "" ||
		llm.WithoutThoughts(s.text) != s.text
}

// thought reports whether the answer contains the model's thoughts.
func (s *seen) thought() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.thinks
}

// text returns the text of a content, which is a string or a list of parts.
func text(content json.RawMessage) string {
	var whole string
	if json.Unmarshal(content, &whole) == nil {
		return whole
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts) // another form has no text
	for _, p := range parts {
		whole += p.Text
	}
	return whole
}

// declines reports whether a text is a refusal in words in place of data.
func declines(text string) bool {
	text = strings.ReplaceAll(strings.ToLower(text), "’", "'")
	return !strings.Contains(text, "{") && has(text, "can't |cannot |can not |unable to |not able to |won't ",
		"assist|help|comply|fulfil|do that|with that|this request")
}
