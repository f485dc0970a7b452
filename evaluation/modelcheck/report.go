package modelcheck

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/llm"
)

// Report is the result of a check.
type Report struct {
	Roles []RoleReport `json:"roles"`
}

// RoleReport is the result for one role.
type RoleReport struct {
	Role  string `json:"role"`
	Model string `json:"model"`
	// Form is the answer form that the endpoint enforces. It is empty for a generator, because its answers are plain
	// text. It is also empty for a role without a complete check.
	Form string `json:"structured_output,omitempty"`
	// Window describes the model's window; nil means that no probe ran.
	Window *Window `json:"window,omitempty"`
	Cases  int     `json:"cases"`
	// ValidFirst counts answers with the right form at once. ValidRepaired counts answers with the right form after
	// the model saw its mistake.
	ValidFirst    int `json:"valid_first"`
	ValidRepaired int `json:"valid_repaired"`
	// Right counts the decisions that match their labels.
	Right int `json:"right"`
	// Failures counts the cases without a usable answer, by reason.
	Failures map[string]int `json:"failures"`
	// Thinking counts the cases with the model's thoughts in the answer or in a separate field.
	Thinking int `json:"thinking"`
	// Stopped is the reason why the rest of the cases was skipped; empty if none was skipped.
	Stopped string `json:"stopped,omitempty"`
	// P50 and P95 are the durations of answered cases with repairs, in milliseconds.
	P50 int64 `json:"p50_ms"`
	P95 int64 `json:"p95_ms"`
	// InputTokens and OutputTokens are the endpoint's token counts over all cases. They are 0 if the endpoint does
	// not count.
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// Cost is the price of all cases by the prices of the options. It is 0 if these are 0.
	Cost float64 `json:"cost"`
	// Wrong names the wrong decisions with their mistakes.
	Wrong []string `json:"wrong"`
	// Advice lists the settings or models to change when the model falls short.
	Advice []string `json:"advice"`
}

// Share is the share of right decisions, 0 to 1.
func (r RoleReport) Share() float64 {
	if r.Cases == 0 {
		return 0
	}
	return float64(r.Right) / float64(r.Cases)
}

// Least is the lowest share of all roles.
func (r Report) Least() float64 {
	least := 1.0
	for _, role := range r.Roles {
		least = min(least, role.Share())
	}
	return least
}

// Reached reports whether the endpoint was reachable for every role.
func (r Report) Reached() bool {
	return !slices.ContainsFunc(r.Roles, func(role RoleReport) bool { return role.Stopped == failUnreachable })
}

// Complete reports whether every case was sent.
func (r Report) Complete() bool {
	return !slices.ContainsFunc(r.Roles, func(role RoleReport) bool { return role.Stopped != "" })
}

// Reasons for a case without a usable answer.
const (
	failUnreachable  = "unreachable"
	failLimited      = "rate limited"
	failForeign      = "no completions"
	failUnauthorized = "unauthorized"
	failUnknown      = "unknown model or path"
	failRejected     = "rejected"
	failTruncated    = "cut off"
	failFiltered     = "filtered"
	failRefused      = "refused"
	failEmpty        = "empty"
	failMalformed    = "malformed"
	failOther        = "failed"
	failNotAsked     = "not asked"
)

// contentFilter is the endpoints' name of a content filter, as an error code and as the finish reason of an answer.
const contentFilter = "content_filter"

// endpointFailures are failures of the endpoint, not of the model. The next case would fail in the same way.
var endpointFailures = []string{failUnreachable, failLimited, failForeign, failUnauthorized, failUnknown}

// failure names the reason of an error, with the help of the endpoint's response.
func failure(err error, came *seen) string {
	came.mu.Lock()
	defer came.mu.Unlock()
	var status *llm.StatusError
	switch {
	case errors.Is(err, llm.ErrContent): // also a content refusal with the status of a bad key
		return failFiltered
	case errors.Is(err, llm.ErrUnauthorized): // also a used-up quota, which is a 429, too
		return failUnauthorized
	// or held back by the limit
	case came.status == http.StatusTooManyRequests, came.status == 0 && errors.As(err, new(*fault.LaterError)):
		return failLimited
	case came.foreign:
		return failForeign
	case came.filtered, errors.As(err, &status) && status.Code == contentFilter:
		return failFiltered
	case errors.Is(err, llm.ErrMalformed) && declines(came.text):
		return failRefused
	}
	for _, f := range []struct {
		err  error
		name string
	}{
		{llm.ErrUnavailable, failUnreachable}, {context.DeadlineExceeded, failUnreachable},
		{llm.ErrNotFound, failUnknown}, {llm.ErrRejected, failRejected}, {llm.ErrTruncated, failTruncated},
		{llm.ErrRefused, failRefused}, {llm.ErrEmpty, failEmpty}, {llm.ErrMalformed, failMalformed},
	} {
		if errors.Is(err, f.err) {
			return f.name
		}
	}
	return failOther
}

// Thresholds for a warning about a model.
const (
	enoughValid = 0.9
	enoughRight = 0.8
	// slowShare is the limit for the slowest answers, as a share of the timeout.
	slowShare = 0.5
)

// advice returns recommendations on the findings, the most important first.
func advice(r RoleReport, role llm.Role, cfg llm.Config) []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, f := range []struct{ name, what string }{
		{
			failUnreachable, "the endpoint did not answer, or not in time: check MNEME_LLM_BASE_URL, MNEME_LLM_TIMEOUT, and " +
				"the server's load",
		},
		{failLimited, "the endpoint's rate limit is reached (429), so the model is not at fault: set " +
			"MNEME_LLM_TENANT_TOKENS_PER_MINUTE and the concurrency of the role in MNEME_LLM_ROLES to the granted number, " +
			"and check with --parallel 1"},
		{failForeign, "the server does not speak chat completions, for example a login page: check MNEME_LLM_BASE_URL"},
		{failUnauthorized, "the endpoint refuses the key: check MNEME_LLM_API_KEY, its rights and its quota"},
		{failUnknown, "the endpoint does not know the model or the path: look at " + setting(role) +
			" and MNEME_LLM_BASE_URL"},
		{failRejected, "the endpoint rejects the request: look at the server's log; its context window may be too small"},
		{
			failTruncated, "answers are cut off: raise MNEME_LLM_MAX_OUTPUT_TOKENS, or switch the model's thinking off " +
				"(MNEME_LLM_EXTRA_BODY)",
		},
		{failFiltered, "a content filter of the endpoint (content_filter) stops questions or answers: loosen it there, or " +
			"choose another endpoint"},
		{failRefused, "the model itself refuses: choose another for " + setting(role)},
		{failEmpty, "answers are empty: the model may think without an end; switch that off (MNEME_LLM_EXTRA_BODY)"},
		{failMalformed, "answers lack the right form, even after the model saw the error: choose a larger model for " +
			setting(role)},
		{failNotAsked, "not asked, because of what became of those before"},
	} {
		if n := r.Failures[f.name]; n > 0 {
			add("%d of %d: %s", n, r.Cases, f.what)
		}
	}
	if r.Thinking > 0 {
		add("in %d of %d the model thinks before it answers, which takes time and tokens of the answer: switch that off "+
			"where quality allows "+
			`(MNEME_LLM_EXTRA_BODY={"chat_template_kwargs":{"enable_thinking":false}}, {"reasoning_effort":"none"} or what the server knows), `+
			"or leave room for it by MNEME_LLM_MAX_OUTPUT_TOKENS", r.Thinking, r.Cases)
	}
	if line := r.Window.advise(cfg.MaxOutputTokensFor(role)); line != "" {
		add("%s", line)
	}
	answered := r.ValidFirst + r.ValidRepaired
	if answered == 0 {
		return out
	}
	if first := float64(r.ValidFirst) / float64(answered); first < enoughValid {
		add("only %d of %d answers had their form at first: each repair costs another call", r.ValidFirst, answered)
	}
	switch r.Form {
	case FormJSON:
		add("the endpoint sees to JSON, but not to a schema (response_format): start it with guided decoding where " +
			"it has that")
	case FormNone:
		add("the endpoint heeds neither a JSON schema nor JSON mode (response_format): start it with guided decoding where " +
			"it has that")
	case FormUnknown:
		add("whether the endpoint heeds a JSON schema (response_format) could not be told: it did not answer a " +
			"short question")
	}
	if r.Share() < enoughRight && float64(r.Right) < enoughRight*float64(answered) {
		add("%d of %d decisions are right: choose a larger model for %s", r.Right, r.Cases, setting(role))
	}
	if limit := cfg.TimeoutFor(role).Milliseconds(); float64(r.P95) > slowShare*float64(limit) {
		add("the slowest answers take %d ms of the %d that MNEME_LLM_TIMEOUT allows: raise it", r.P95, limit)
	}
	if r.InputTokens == 0 {
		add("the endpoint counts no tokens: neither costs nor MNEME_GATEWAY_TOKENS_PER_DAY can be told")
	}
	return out
}

// setting names the setting of a role's model.
func setting(role llm.Role) string { return "the model of " + string(role) + " in MNEME_LLM_ROLES" }
