package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// verdict is a small structured answer.
type verdict struct {
	Word  string   `json:"word" enum:"yes|no"`
	Score float64  `json:"score"`
	Tags  []string `json:"tags,omitempty"`
}

var verdictSchema = structured.SchemaOf[verdict]("verdict")

const good = `{"word":"yes","score":0.5,"tags":[]}`

func request() llm.Request {
	return llm.Request{Role: llm.RoleManager, Scope: memory.Scope{Tenant: "acme"}, System: "rules", User: "say yes",
		Schema: &verdictSchema}
}

func ask(ctx context.Context, c *llm.Client) (verdict, error) {
	return llm.AskJSON(ctx, c, request(), func(v verdict) (verdict, error) {
		if v.Score > 1 {
			return v, structured.Faultf("score is above 1")
		}
		return v, nil
	})
}

// endless sends more bytes than a client reads.
func endless(w http.ResponseWriter, _ *http.Request, _ llmtest.Call) {
	_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"`))
	for chunk := bytes.Repeat([]byte("again "), 1<<16); ; {
		if _, err := w.Write(chunk); err != nil {
			return // the client has closed the connection
		}
	}
}

func TestAskTellsEveryMisbehaviourApart(t *testing.T) {
	never := make(chan struct{})
	cases := []struct {
		name  string
		steps []llmtest.Step
		want  error // nil: the answer is accepted
		calls int
	}{
		{"good answer", []llmtest.Step{llmtest.Text(good)}, nil, 1},
		{"prose around", []llmtest.Step{llmtest.Text("Well {you see}:\n```json\n" + good + "\n```\nbye {}")}, nil, 1},
		{"extra fields", []llmtest.Step{llmtest.Text(`{"why":"because","word":"no","score":1}`)}, nil, 1},
		{"null for an optional field", []llmtest.Step{llmtest.Text(`{"word":"no","score":1,"tags":null}`)}, nil, 1},
		{"repaired", []llmtest.Step{llmtest.Text("no idea"), llmtest.Text(good)}, nil, 2},
		{"check fails, then repaired", []llmtest.Step{llmtest.Text(`{"word":"yes","score":7}`), llmtest.Text(good)}, nil, 2},
		{"never JSON", []llmtest.Step{llmtest.Text("a"), llmtest.Text("b")}, llm.ErrMalformed, 2},
		{"half JSON", []llmtest.Step{llmtest.Text(good[:20]), llmtest.Text(good[:20])}, llm.ErrMalformed, 2},
		{"missing field", []llmtest.Step{llmtest.Text(`{"word":"yes"}`), llmtest.Text(`{"score":1}`)}, llm.ErrMalformed, 2},
		{"null for a required field", []llmtest.Step{llmtest.Text(`{"word":"yes","score":null}`), llmtest.Text(`null`)},
			llm.ErrMalformed, 2},
		{"another case of the key", []llmtest.Step{llmtest.Text(`{"Word":"yes","score":1}`), llmtest.Text(`[]`)},
			llm.ErrMalformed, 2},
		{"wrong type", []llmtest.Step{llmtest.Text(`{"word":"yes","score":"high"}`), llmtest.Text(`{"word":1,"score":1}`)},
			llm.ErrMalformed, 2},
		{"outside the enum", []llmtest.Step{llmtest.Text(`{"word":"maybe","score":1}`), llmtest.Text(`7`)}, llm.ErrMalformed,
			2},
		{"truncated", []llmtest.Step{llmtest.Truncated()}, llm.ErrTruncated, 1},
		{"truncated when repairing", []llmtest.Step{llmtest.Text("x"), llmtest.Truncated()}, llm.ErrTruncated, 2},
		{"refused", []llmtest.Step{llmtest.Refusal()}, llm.ErrRefused, 1},
		{"filtered", []llmtest.Step{llmtest.Filtered()}, llm.ErrRefused, 1},
		{"no choices", []llmtest.Step{llmtest.NoChoices()}, llm.ErrEmpty, 1},
		{"no text", []llmtest.Step{llmtest.EmptyText()}, llm.ErrEmpty, 1},
		{"null body", []llmtest.Step{llmtest.Body("null")}, llm.ErrEmpty, 1},
		{"429 once", []llmtest.Step{llmtest.RateLimited("0"), llmtest.Text(good)}, nil, 2},
		{"500 and a dropped connection", []llmtest.Step{llmtest.Status(500), llmtest.Drop(), llmtest.Text(good)}, nil, 3},
		{"body cut off", []llmtest.Step{llmtest.Body(`{"choices":[{`), llmtest.Text(good)}, nil, 2},
		{"a stream nobody asked for", repeat(llmtest.Body(
			"data: {\"choices\":[{\"delta\":{\"content\":\"yes\"}}]}\n\ndata: [DONE]\n\n"), 3),
			llm.ErrUnavailable, 3},
		{"bytes that are no text", []llmtest.Step{llmtest.Body("\xff\xfe\x00{"), llmtest.Text(good)}, nil, 2},
		{"the same over and over", []llmtest.Step{llmtest.Text(strings.Repeat(good, 500)), llmtest.Text(good)}, nil, 1},
		{"an answer without an end", repeat(endless, 3), llm.ErrUnavailable, 3},
		{"502 of a proxy", []llmtest.Step{llmtest.PlainStatus(502, "<html>bad gateway"), llmtest.Text(good)}, nil, 2},
		{"slow once", []llmtest.Step{llmtest.Hold(never, llmtest.FakeModel()), llmtest.Text(good)}, nil, 2},
		{"429 for ever", repeat(llmtest.RateLimited("0"), 3), llm.ErrUnavailable, 3},
		{"503 for ever", repeat(llmtest.Status(503), 3), llm.ErrUnavailable, 3},
		{"dropped for ever", repeat(llmtest.Drop(), 3), llm.ErrUnavailable, 3},
		{"slow for ever", repeat(llmtest.Hold(never, llmtest.FakeModel()), 3), llm.ErrUnavailable, 3},
		{"asked to wait an hour", []llmtest.Step{llmtest.RateLimited("3600")}, llm.ErrUnavailable, 1},
		{"asked to wait until a date", []llmtest.Step{llmtest.RateLimited("Fri, 31 Dec 2199 23:59:59 GMT")},
			llm.ErrUnavailable, 1},
		{"400 for all", repeat(llmtest.Status(400), 2), llm.ErrRejected, 2},
		{"400 for what is said", []llmtest.Step{llmtest.Status(400)}, llm.ErrContent, 2},
		{"422 in another form", []llmtest.Step{llmtest.PlainStatus(422, `{"detail":[{"msg":"oops"}]}`)}, llm.ErrRejected, 2},
		{"401", []llmtest.Step{llmtest.Status(401)}, llm.ErrUnauthorized, 1},
		{"403 without JSON", []llmtest.Step{llmtest.PlainStatus(403, "no"), llmtest.PlainStatus(403, "no")},
			llm.ErrUnauthorized, 2},
		{"quota used up", []llmtest.Step{llmtest.PlainStatus(429, `{"error":{"code":"insufficient_quota"}}`)},
			llm.ErrUnauthorized, 1},
		{"a prompt that is too long, in words", []llmtest.Step{llmtest.PlainStatus(400,
			`{"message":"This model's maximum context length is 8192 tokens.","type":"BadRequestError","param":null,"code":400}`)},
			llm.ErrTruncated, 1},
		{"404", []llmtest.Step{llmtest.Status(404)}, llm.ErrNotFound, 1},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := llmtest.New(t)
			s.Script(llm.RoleManager, tc.steps...)
			cfg := s.Config()
			if strings.HasPrefix(tc.name, "slow") {
				cfg.Timeout = time.Second // long enough for the answers that are meant to arrive
			}
			v, err := ask(t.Context(), client(t, cfg))
			if !errors.Is(err, tc.want) || (tc.want == nil && err != nil) {
				t.Fatalf("error is %v, want %v", err, tc.want)
			}
			if err != nil && fault.IsTerminal(err) {
				t.Errorf("%v is not retryable, yet the data is not at fault", err)
			}
			if (err == nil) != (v.Word != "") {
				t.Errorf("answer is %+v with error %v", v, err)
			}
			if n := s.Count(llm.RoleManager); n != tc.calls {
				t.Errorf("%d calls, want %d", n, tc.calls)
			}
		})
	}
}

func TestOnlyErrorsOfAnAnswerAreUnusableAnswers(t *testing.T) {
	for err, want := range map[error]bool{
		llm.ErrMalformed: true, llm.ErrTruncated: true, llm.ErrRefused: true, llm.ErrEmpty: true,
		llm.ErrContent:      true,
		llm.ErrUnauthorized: false, llm.ErrNotFound: false, llm.ErrRejected: false, llm.ErrUnavailable: false,
	} {
		if errors.Is(err, fault.ErrUnusableAnswer) != want {
			t.Errorf("%v is classed wrongly", err)
		}
	}
}

// A rejection is the fault of the request when the endpoint accepts other requests. Otherwise it is the fault of
// the settings.
func TestWhoseARejectionIs(t *testing.T) {
	s := llmtest.New(t)
	c := s.Client(t)
	for name, call := range map[llm.Role]func() error{
		llm.RoleManager:   func() error { _, err := ask(t.Context(), c); return err },
		llm.RoleEmbedding: func() error { _, err := c.Embed(t.Context(), "", []string{"tea"}, 0); return err },
	} {
		for status, kind := range map[int]error{http.StatusUnprocessableEntity: llm.ErrRejected,
			http.StatusForbidden: llm.ErrUnauthorized} {
			s.Script(name, llmtest.Status(status))
			if err := call(); !errors.Is(err, llm.ErrContent) || !errors.Is(err, kind) || !errors.Is(err, fault.ErrAskLess) {
				t.Errorf("%s, one is rejected with %d: %v", name, status, err)
			}
			s.Script(name, llmtest.Status(status), llmtest.Status(status))
			if err := call(); !errors.Is(err, kind) || errors.Is(err, fault.ErrUnusableAnswer) {
				t.Errorf("%s, all are rejected with %d: %v", name, status, err)
			}
		}
	}
}

func TestRepairShowsTheAnswerAndItsFault(t *testing.T) {
	s := llmtest.New(t)
	s.Script(llm.RoleManager, llmtest.Text(`{"word":"maybe","score":1}`), llmtest.Text(good))
	if _, err := ask(t.Context(), s.Client(t)); err != nil {
		t.Fatal(err)
	}
	c := s.Calls(llm.RoleManager)[1]
	if !c.IsRepair() || len(c.Messages) != 4 {
		t.Fatalf("the second call has %d messages, want 4", len(c.Messages))
	}
	if !strings.Contains(c.Messages[2].Content, "maybe") || c.Messages[2].Role != "assistant" {
		t.Errorf("the answer is not shown: %+v", c.Messages[2])
	}
	if !strings.Contains(c.Messages[3].Content, "want one of yes, no") {
		t.Errorf("the fault is not shown: %+v", c.Messages[3])
	}
}

func TestOfTwoAnswersThatArePartlyRightTheBetterCounts(t *testing.T) {
	answer := func(score string) llmtest.Step { return llmtest.Text(`{"word":"yes","score":` + score + `}`) }
	for name, tc := range map[string]struct {
		first, second string
		want          float64
	}{
		"the repair is worse":   {"3", "2", 3},
		"the repair is better":  {"2", "3", 3},
		"the repair is right":   {"3", "0", 0},
		"the repair is no use":  {"3", "-1", 3},
		"only the repair is":    {"-1", "2", 2},
		"as much of both right": {"2", "2.5", 2.5},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			s.Script(llm.RoleManager, answer(tc.first), answer(tc.second))
			v, err := llm.AskJSON(t.Context(), s.Client(t), request(), func(v verdict) (verdict, error) {
				switch fault := structured.Faultf("something is wrong"); {
				case v.Score < 0:
					return verdict{}, fault
				case v.Score > 0:
					return v, structured.Partly(fault, int(v.Score)) // the score is the number of valid parts
				}
				return v, nil
			})
			if err != nil || v.Score != tc.want {
				t.Errorf("got %+v, %v, want the one of %v", v, err, tc.want)
			}
		})
	}
}

func TestThoughtsAreNoAnswer(t *testing.T) {
	const draft = `{"word":"no","score":1,"tags":[]}`
	parts := func(list string) string {
		return `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":` + list + `}}]}`
	}
	for name, tc := range map[string]struct {
		step llmtest.Step
		want string // the word; empty for no answer
	}{
		"before it":               {llmtest.Text("<think>Maybe " + draft + "?</think>\n" + good), "yes"},
		"opened by the prompt":    {llmtest.Text("Maybe " + draft + "?\n</think>\n" + good), "yes"},
		"twice":                   {llmtest.Text("<think>a</think>\n<think>" + draft + "</think>" + good), "yes"},
		"after some text":         {llmtest.Text("Well.<Think>" + draft + "</Think>\n" + good), "yes"},
		"that begin with a draft": {llmtest.Text(draft + " no\n</think>" + good), "yes"},
		"in a model's own marks":  {llmtest.Text("◁think▷" + draft + "◁/think▷" + good), "yes"},
		"in other marks":          {llmtest.Text("[THINK]" + draft + "[/THINK]" + good), "yes"},
		"that have no end":        {llmtest.Text("<think>Maybe " + good), ""},
		"alone":                   {llmtest.Text("<think>Maybe " + good + "</think>"), ""},
		"a mark that is quoted": {
			llmtest.Text(`{"word":"yes","score":0.5,"tags":["</think>` + strings.ReplaceAll(draft, `"`, `\"`) + `"]}`), "yes",
		},
		"drafts without a mark": {llmtest.Text("Maybe " + draft + "? No: " + good), ""},
		"in parts of their own": {llmtest.Body(parts(
			`[{"type":"thinking","text":"Maybe"},{"type":"text","text":"{\"word\":\"yes\","},` +
				`{"type":"text","text":"\"score\":0.5,\"tags\":[]}"}]`)), "yes"},
		"in parts, and no answer": {llmtest.Body(parts(`[{"type":"thinking","text":"Maybe"}]`)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			s.Always(tc.step)
			v, err := ask(t.Context(), s.Client(t))
			if v.Word != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("got %+v, %v, want %q", v, err, tc.want)
			}
			if err != nil && !errors.Is(err, fault.ErrUnusableAnswer) {
				t.Errorf("got %v, want an answer that cannot be used", err)
			}
		})
	}
}

func TestAMarkThatAnAnswerTalksOfStays(t *testing.T) {
	const said = "You begin a block with <think> there, and [THINK] here."
	if got := llm.WithoutThoughts(said); got != said {
		t.Errorf("got %q", got)
	}
}

// A repair without a fault is not better when it omits valid parts of the first answer. The model gets the failed
// part again, and an omitted part is lost.
func TestARepairThatLeavesOutWhatWasRightDoesNotCount(t *testing.T) {
	for name, tc := range map[string]struct {
		second string
		want   int
	}{"it has all of it": {"[1,2]", 2}, "it leaves some of it out": {"[1]", 3}} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			s.Script(llm.RoleManager, llmtest.Text("[1,2,-3]"), llmtest.Text(tc.second))
			got, err := llm.Ask(t.Context(), s.Client(t), llm.Request{Role: llm.RoleManager},
				func(answer string) (out []int, err error) {
					if err := json.Unmarshal([]byte(answer), &out); err != nil {
						return nil, err
					}
					if slices.Min(out) < 0 {
						return out, structured.Partly(structured.Faultf("one is wrong"), len(out)-1)
					}
					return out, nil
				})
			if err != nil || len(got) != tc.want {
				t.Errorf("got %v, %v, want %d", got, err, tc.want)
			}
		})
	}
}

func TestErrorsQuoteNeitherAnswerNorServerNorKey(t *testing.T) {
	const secret = "sk-very-secret"
	steps := map[string][]llmtest.Step{
		"answer":  repeat(llmtest.Text(`{"word":"PRIVATE","score":1}`), 2),
		"prose":   repeat(llmtest.Text(`PRIVATE {"word"`), 2),
		"status":  {llmtest.PlainStatus(400, `{"error":{"message":"PRIVATE","code":"PRIVATE text","type":"`+secret+`"}}`)},
		"refusal": {llmtest.Refusal()},
		"401":     {llmtest.PlainStatus(401, "bad key "+secret)},
	}
	for name, script := range steps {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			s.Script(llm.RoleManager, script...)
			cfg := s.Config()
			cfg.Key = secret
			_, err := ask(t.Context(), client(t, cfg))
			if err == nil {
				t.Fatal("no error")
			}
			for _, bad := range []string{"PRIVATE", secret, "cannot help"} {
				if strings.Contains(err.Error(), bad) {
					t.Errorf("error quotes %q: %v", bad, err)
				}
			}
			if got := s.Calls(llm.RoleManager)[0].Authorization; got != "Bearer "+secret {
				t.Errorf("Authorization is %q", got)
			}
		})
	}
}

func TestCancelledCallsEndAtOnce(t *testing.T) {
	s := llmtest.New(t)
	never := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	s.Script(llm.RoleManager, func(w http.ResponseWriter, r *http.Request, c llmtest.Call) {
		cancel()
		llmtest.Hold(never, llmtest.FakeModel())(w, r, c)
	})
	_, err := ask(ctx, s.Client(t))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want cancellation", err)
	}
	if n := s.Total(); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

func repeat(s llmtest.Step, n int) []llmtest.Step {
	out := make([]llmtest.Step, n)
	for i := range out {
		out[i] = s
	}
	return out
}

func client(t *testing.T, cfg llm.Config) *llm.Client {
	t.Helper()
	c, err := llm.NewClient(cfg, llm.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
