// Package modelcheck finds out in minutes whether a model is good enough for the llm policy. It puts labelled cases of every role to the
// endpoint, through the production prompts, schemas and checks of answers, and reports what an operator has to know: whether it can be
// reached, whether answers fit their form at first, after one repair or never, how many decisions are right, how long it takes, and what
// to set where it falls short.
package modelcheck

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	formationllm "github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	recallllm "github.com/mneme-memory/mneme/shared/recall/llm"
)

// Tenant is on whose behalf the model is asked.
const Tenant = "model-check"

// Options say what is checked.
type Options struct {
	// Roles are those to check; none means all.
	Roles []llm.Role
	// Formation and Recall are the settings that the services run with, prompts of the operator's included.
	Formation formationllm.Options
	Recall    recallllm.Options
	// Parallel is how many cases are asked at the same time; 0 means one.
	Parallel int
	// Prompt is how long a prompt the window is looked at with, in tokens, at most what the role's has room for; 0 for not at all.
	Prompt int64
	// PriceIn and PriceOut are those of a million tokens of prompts and answers.
	PriceIn, PriceOut float64
	// Done is told after each case, also by several at the same time; nil for nobody.
	Done func()
}

// Roles are the roles that there are cases of, in the order of the pipeline.
func Roles() []llm.Role {
	return []llm.Role{llm.RoleFilter, llm.RoleExtractor, llm.RoleManager, llm.RoleUtilizer, llm.RoleGenerator}
}

// subject is what the cases are put to.
type subject struct {
	filter    *formationllm.Filter
	former    *salimory.LLM
	profiler  *recallllm.Profiler
	generator *recallllm.Generator
}

// labelled is a case: ask puts it to the model and says what is wrong with the decision, empty where it is right. Its error is the
// model's failure.
type labelled struct {
	name string
	ask  func(ctx context.Context, s subject) (wrong string, err error)
}

func casesOf(role llm.Role) []labelled {
	switch role {
	case llm.RoleFilter:
		return filterCases()
	case llm.RoleExtractor:
		return extractorCases()
	case llm.RoleManager:
		return managerCases()
	case llm.RoleUtilizer:
		return utilizerCases()
	case llm.RoleGenerator:
		return generatorCases()
	}
	return nil
}

// Cases is how many cases the roles have.
func Cases(roles []llm.Role) int {
	n := 0
	for _, r := range roles {
		n += len(casesOf(r))
	}
	return n
}

// Run puts the cases to the models of an endpoint. Its error says that nothing could be asked: settings or prompts that do not work, or ctx
// at an end. What a model does wrong is in the report.
func Run(ctx context.Context, cfg llm.Config, o Options) (Report, error) {
	cfg.Breaker = llm.Breaker{}           // what one role's model does must not keep the others from being asked
	cfg.Retry.Max = min(cfg.Retry.Max, 1) // who is not there shall be told soon
	cfg.TenantConcurrency = max(cfg.TenantConcurrency, o.Parallel)
	transport := newWatch(max(1, o.Parallel))
	defer transport.CloseIdleConnections()
	client, err := llm.NewClient(cfg, llm.Deps{Transport: transport})
	if err != nil {
		return Report{}, err
	}
	roles := o.Roles
	if len(roles) == 0 {
		roles = Roles()
	}
	var s subject
	var errs [4]error
	s.filter, errs[0] = formationllm.NewFilter(client, o.Formation)
	s.former, errs[1] = salimory.NewLLM(client, o.Formation)
	s.profiler, errs[2] = recallllm.NewProfiler(client, o.Recall)
	s.generator, errs[3] = recallllm.NewGenerator(client, o.Recall)
	if err := errors.Join(errs[:]...); err != nil {
		return Report{}, err
	}
	var out Report
	vain := most
	probes := newProber(cfg, transport)
	for _, role := range roles {
		results, stopped := ask(ctx, s, casesOf(role), cfg.TimeoutFor(role), vain, o)
		r := summarize(role, cfg, results, stopped)
		if stopped != "" {
			vain = 1 // whether it is the role's or the endpoint's, one case tells
		} else {
			probes.look(ctx, role, o.Prompt, &r)
		}
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		r.Cost = (float64(r.InputTokens)*o.PriceIn + float64(r.OutputTokens)*o.PriceOut) / 1e6
		r.Advice = advice(r, role, cfg)
		out.Roles = append(out.Roles, r)
	}
	return out, nil
}

// result is what became of a case.
type result struct {
	name          string
	wrong         string
	failure       string // why there is no usable answer; empty where there is one
	thinks        bool
	calls         int64
	input, output int64
	took          time.Duration
}

// most is how many cases in a row may come to nothing for what is the endpoint's before the rest of a role is not asked.
const most = 3

// ask puts cases to the model: one by one until one is answered, or vain of them came to nothing for what is the endpoint's, and from then
// on some at the same time. Until then a case may take no longer than the timeout of one request, so that an endpoint that hangs is found
// out soon. It returns why the rest was not asked, where it was not.
func ask(ctx context.Context, s subject, cases []labelled, timeout time.Duration, vain int, o Options) (out []result, stopped string) {
	out = make([]result, len(cases))
	places := make(chan struct{}, max(1, o.Parallel))
	var mu sync.Mutex // of what follows
	inVain, answered := 0, false
	put := func(ctx context.Context, i int) {
		r := one(ctx, s, cases[i])
		mu.Lock()
		defer mu.Unlock()
		out[i] = r
		switch {
		case !slices.Contains(endpointFailures, r.failure):
			inVain, answered, vain = 0, true, most
		case stopped == "":
			if inVain++; inVain >= vain {
				stopped = r.failure
			}
		}
	}
	var under sync.WaitGroup
	for i, c := range cases {
		places <- struct{}{}
		mu.Lock()
		stop, scout := stopped != "", !answered
		mu.Unlock()
		switch {
		case stop:
			out[i] = result{name: c.name, failure: failNotAsked}
		case scout:
			bounded, cancel := context.WithTimeout(ctx, timeout)
			put(bounded, i)
			cancel()
		default:
			under.Go(func() {
				put(ctx, i)
				<-places
				told(o)
			})
			continue
		}
		<-places
		told(o)
	}
	under.Wait()
	return out, stopped
}

func told(o Options) {
	if o.Done != nil {
		o.Done()
	}
}

func one(ctx context.Context, s subject, c labelled) result {
	var used llm.Usage
	var came seen
	began := time.Now()
	wrong, err := c.ask(watched(llm.WithUsage(ctx, &used), &came), s)
	out := result{
		name: c.name, wrong: wrong, calls: used.Calls(), input: used.InputTokens(), output: used.OutputTokens(), took: time.Since(began),
	}
	if err != nil {
		out.failure = failure(err, &came)
	}
	out.thinks = came.thought()
	return out
}

// quantile is that of sorted durations, 0 of none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// summarize reports a role.
func summarize(role llm.Role, cfg llm.Config, results []result, stopped string) RoleReport {
	r := RoleReport{
		Role: string(role), Model: cfg.ModelFor(role), Cases: len(results),
		Failures: map[string]int{}, Wrong: []string{}, Stopped: stopped,
	}
	var took []time.Duration
	for _, c := range results {
		r.InputTokens += c.input
		r.OutputTokens += c.output
		if c.thinks {
			r.Thinking++
		}
		switch {
		case c.failure != "":
			r.Failures[c.failure]++
			r.Wrong = append(r.Wrong, c.name+": "+c.failure)
		case c.calls > 1:
			r.ValidRepaired++
		default:
			r.ValidFirst++
		}
		if c.failure == "" {
			took = append(took, c.took)
			if c.wrong == "" {
				r.Right++
			} else {
				r.Wrong = append(r.Wrong, c.name+": "+c.wrong)
			}
		}
	}
	slices.Sort(took)
	r.P50, r.P95 = quantile(took, 0.5).Milliseconds(), quantile(took, 0.95).Milliseconds()
	return r
}
