package llm_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// BenchmarkCall measures the overhead of the client. Both cases send the same request to the same local server. One
// uses plain net/http and decodes the answer. The other uses the client, which queues, measures, traces, checks the
// schema and counts tokens.
func BenchmarkCall(b *testing.B) {
	s := llmtest.New(b)
	s.Always(llmtest.Text(good))
	r := request()
	r.System, r.User = strings.Repeat("You rate what is said. ", 100),
		strings.Repeat("I live in Porto with two sons. ", 100)
	c := s.Client(b)
	use := func(v verdict) (verdict, error) { return v, nil }
	if _, err := llm.AskJSON(b.Context(), c, r, use); err != nil {
		b.Fatal(err)
	}
	body := string(s.Calls(llm.RoleManager)[0].Raw)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.URL+"/chat/completions",
				strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			var answer struct {
				Choices []struct{ Message struct{ Content string } }
			}
			err = json.NewDecoder(res.Body).Decode(&answer)
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			var v verdict
			if err != nil || json.Unmarshal([]byte(answer.Choices[0].Message.Content), &v) != nil {
				b.Fatalf("answer %+v: %v", answer, err)
			}
		}
	})
	b.Run("client", func(b *testing.B) {
		for b.Loop() {
			if _, err := llm.AskJSON(b.Context(), c, r, use); err != nil {
				b.Fatal(err)
			}
		}
	})
}
