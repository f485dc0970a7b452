package llm_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

func TestRolesHaveSettingsOfTheirOwn(t *testing.T) {
	s := llmtest.New(t)
	s.Always(llmtest.Text(good))
	cfg := s.Config()
	temperature, most := 0.7, int64(55)
	cfg.Roles = llm.Roles{llm.RoleManager: {Temperature: &temperature, MaxOutputTokens: &most}}
	c := client(t, cfg)
	for _, role := range []llm.Role{llm.RoleManager, llm.RoleFactManager, llm.RoleFilter} {
		r := request()
		r.Role = role
		if _, err := llm.AskJSON(t.Context(), c, r, func(v verdict) (verdict, error) { return v, nil }); err != nil {
			t.Fatal(err)
		}
		call := s.Calls(role)[0]
		if own := role != llm.RoleFilter; own != (*call.Temperature == 0.7) || own != (*call.MaxTokens == 55) {
			t.Errorf("%s: temperature %v, limit %v", role, *call.Temperature, *call.MaxTokens)
		}
	}
}

func TestSettingsOfRolesAreChecked(t *testing.T) {
	for setting, want := range map[string]string{
		"ROLES=boss: {temperature: 1}":         "roles among",
		"ROLES=filter: {temperature: 3}":       "0 to 2",
		"ROLES=filter: {timeout: 0s}":          "more than 0",
		"ROLES=filter: {heat: 1}":              "ROLES",
		"ROLES=filter":                         "ROLES",
		"ROLES=filter: {concurrency: 0}":       "more than 0",
		"ROLES=filter: {max_output_tokens: 0}": "more than 0",
		"ROLES=filter: {window: 100}":          "longest answer",
		"ROLES=filter: {extra_body: {n: 2}}":   "ROLES",
		"WINDOW=4096":                          "MAX_OUTPUT_TOKENS",
		"TENANT_TOKENS_PER_MINUTE=-1":          "0 or more",
	} {
		name, value, _ := strings.Cut(setting, "=")
		if _, err := config.Load[llm.Config](map[string]string{name: value}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
	}
	cfg, err := config.Load[llm.Config](map[string]string{
		"ROLES": "generator: {timeout: 20s}\nfilter: {timeout: 2m, window: 8192}\n",
	})
	if err != nil || cfg.TimeoutFor(llm.RoleGenerator) != 20*time.Second ||
		cfg.TimeoutFor(llm.RoleManager) != 2*time.Minute ||
		cfg.WindowFor(llm.RoleFilter) != 8192 {
		t.Errorf("%+v, %v", cfg.Roles, err)
	}
}

func TestARoleRunsNoMoreRequestsAtOnceThanItMay(t *testing.T) {
	s := llmtest.New(t)
	release := make(chan struct{})
	s.Always(llmtest.Hold(release, llmtest.Text(good)))
	cfg := s.Config()
	one := 1
	cfg.Roles = llm.Roles{llm.RoleManager: {Concurrency: &one}}
	c := client(t, cfg)
	var all sync.WaitGroup
	put := func(role llm.Role) {
		all.Go(func() {
			r := request()
			r.Role = role
			if _, err := llm.AskJSON(t.Context(), c, r, func(v verdict) (verdict, error) { return v, nil }); err != nil {
				t.Error(err)
			}
		})
	}
	for range 3 {
		put(llm.RoleManager)
	}
	put(llm.RoleFilter) // the managers do not delay it
	for s.Count(llm.RoleFilter) == 0 || s.Count(llm.RoleManager) == 0 {
		runtime.Gosched()
	}
	if n := s.Count(llm.RoleManager); n != 1 {
		t.Errorf("%d requests of the manager at once, want 1", n)
	}
	close(release)
	all.Wait()
	if n := s.Count(llm.RoleManager); n != 3 {
		t.Errorf("%d requests of the manager, want 3", n)
	}
}

func TestWhatDoesNotFitTheWindowIsNotSent(t *testing.T) {
	s := llmtest.New(t)
	s.Always(llmtest.Text(good))
	cfg := s.Config()
	cfg.MaxOutputTokens, cfg.Window = 100, 1100
	c := client(t, cfg)
	for text, fits := range map[string]bool{
		strings.Repeat("word ", 400): true, strings.Repeat("word ", 900): false, strings.Repeat("字", 1100): false,
	} {
		before := s.Total()
		r := request()
		r.User = text
		_, err := llm.AskJSON(t.Context(), c, r, func(v verdict) (verdict, error) { return v, nil })
		if fits != (err == nil) || !fits && (!errors.Is(err, llm.ErrTruncated) || s.Total() != before) {
			t.Errorf("%d bytes: %v after %d calls", len(text), err, s.Total()-before)
		}
		if err != nil && strings.Contains(err.Error(), text[:4]) {
			t.Errorf("the error quotes the prompt: %v", err)
		}
	}
}

func TestAnEndpointThatFailsIsLeftAloneForAWhile(t *testing.T) {
	s := llmtest.New(t)
	s.Always(llmtest.Status(500))
	cfg := s.Config()
	cfg.Retry.Max, cfg.Breaker = 0, llm.Breaker{Failures: 3, Pause: 50 * time.Millisecond}
	c := client(t, cfg)
	for i := range 6 {
		if _, err := ask(t.Context(), c); !errors.Is(err, llm.ErrUnavailable) {
			t.Fatalf("call %d: %v, want ErrUnavailable", i+1, err)
		}
	}
	if n := s.Total(); n != 3 {
		t.Errorf("%d requests, want none after 3 that failed", n)
	}
	s.Always(llmtest.Text(good))
	for {
		_, err := ask(t.Context(), c)
		if err == nil {
			break
		}
		if !errors.Is(err, llm.ErrUnavailable) {
			t.Fatal(err)
		}
		runtime.Gosched() // until the pause is over
	}
	if n := s.Total(); n != 4 {
		t.Errorf("%d requests, want one that found the endpoint back", n)
	}
}

func TestOnlyWhatShowsThatTheEndpointIsAwayCounts(t *testing.T) {
	s := llmtest.New(t)
	cfg := s.Config()
	cfg.Retry.Max, cfg.Breaker = 0, llm.Breaker{Failures: 2, Pause: time.Hour}
	c := client(t, cfg)
	for name, step := range map[string]llmtest.Step{
		"a request it rejects": llmtest.Status(400), "an answer that is no use": llmtest.Refusal(),
		"a limit": llmtest.RateLimited("0"),
	} {
		before := s.Total()
		s.Always(step)
		for range 4 {
			if _, err := ask(t.Context(), c); err == nil {
				t.Fatal("no error")
			}
		}
		if n := s.Total() - before; n < 4 {
			t.Errorf("%s: %d requests, want 4 at least", name, n)
		}
	}
}

// hanging answers one of every so many requests, or none for 0.
type hanging struct{ answers, asked int32 }

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.asked++; h.answers > 0 && h.asked%h.answers == 0 {
		w := httptest.NewRecorder()
		w.WriteHeader(http.StatusUnauthorized)
		return w.Result(), nil
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// No caller waits for the role's timeout. Waits up to a deadline add up. Waits that the caller cancels do not.
func TestAnEndpointThatHangsIsLeftAloneAlthoughCallersHaveShortDeadlines(t *testing.T) {
	for name, tc := range map[string]struct {
		patience time.Duration
		cancel   bool
		failures uint32
		answers  int32
		want     int32 // requests, of twenty calls
	}{
		"deadlines of a tenth of the timeout": {12 * time.Second, false, 3, 0, 3},
		"shorter ones":                        {3 * time.Second, false, 3, 0, 6}, // three add up to less
		"very short ones":                     {100 * time.Millisecond, false, 3, 0, 20},
		"callers who went away":               {12 * time.Second, true, 3, 0, 20},
		"an answer now and then":              {3 * time.Second, false, 1, 4, 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, endpoint := llm.DefaultConfig(), &hanging{answers: tc.answers}
				cfg.Model, cfg.Timeout, cfg.Breaker = "scripted", 2*time.Minute,
					llm.Breaker{Failures: tc.failures, Pause: time.Hour}
				c, err := llm.NewClient(cfg, llm.Deps{Transport: endpoint})
				if err != nil {
					t.Fatal(err)
				}
				for range 20 {
					ctx, cancel := context.WithTimeout(t.Context(), tc.patience)
					if tc.cancel {
						ctx, cancel = context.WithCancel(t.Context())
						time.AfterFunc(tc.patience, cancel)
					}
					if _, err := ask(ctx, c); err == nil {
						t.Error("no error")
					}
					cancel()
				}
				if n := endpoint.asked; n != tc.want {
					t.Errorf("%d requests, want %d", n, tc.want)
				}
			})
		})
	}
}

// direct hands requests to a handler without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

// A tenant has a share of tokens a minute. A tenant that used it waits, and the others do not.
func TestATenantThatUsesMuchWaitsAndOthersDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := llmtest.NewHandler()
		handler.Always(llmtest.Body(`{"choices":[{"message":{"content":` + strconv.Quote(good) + `}}],` +
			`"usage":{"prompt_tokens":900,"completion_tokens":100}}`))
		cfg := llm.DefaultConfig()
		cfg.BaseURL, cfg.Model, cfg.TokensPerMinute = "http://model.test/v1", "scripted", 600
		c, err := llm.NewClient(cfg, llm.Deps{Transport: direct{handler}})
		if err != nil {
			t.Fatal(err)
		}
		took := func(tenant string) time.Duration {
			began := time.Now()
			r := request()
			r.Scope.Tenant = tenant
			if _, err := llm.AskJSON(t.Context(), c, r, func(v verdict) (verdict, error) { return v, nil }); err != nil {
				t.Fatal(err)
			}
			return time.Since(began).Round(time.Second)
		}
		// 1000 tokens are used at 10 a second. The next call comes when less than 600 are left to be worked off.
		for i, want := range []struct {
			tenant string
			wait   time.Duration
		}{{"acme", 0}, {"acme", 40 * time.Second}, {"other", 0}, {"acme", 100 * time.Second}} {
			if got := took(want.tenant); got != want.wait {
				t.Errorf("call %d of %s waited %s, want %s", i+1, want.tenant, got, want.wait)
			}
		}
	})
}

// When an endpoint asks for a long pause of one model, no tenant sends to that model until then. Another model
// stays in use.
func TestAnEndpointThatAsksToWaitIsLeftAlone(t *testing.T) {
	s := llmtest.New(t)
	s.Script(llm.RoleManager, llmtest.RateLimited("120"))
	cfg := s.Config()
	cfg.Roles = llm.Roles{llm.RoleFilter: {Model: "another"}}
	c := client(t, cfg)
	for range 2 {
		_, err := ask(t.Context(), c)
		var later *fault.LaterError
		if !errors.As(err, &later) || later.After <= time.Minute || later.After > 2*time.Minute ||
			!errors.Is(err, llm.ErrUnavailable) {
			t.Errorf("got %v, want an error that says to come in two minutes", err)
		}
	}
	if _, err := c.Embed(t.Context(), "other", []string{"tea"}, 0); !errors.Is(err, llm.ErrUnavailable) || s.Total() != 1 {
		t.Errorf("%d requests, %v; want one", s.Total(), err)
	}
	r := request()
	r.Role = llm.RoleFilter
	if _, err := llm.Ask(t.Context(), c, r, func(string) (bool, error) { return true, nil }); err != nil {
		t.Errorf("another model: %v", err)
	}
}
