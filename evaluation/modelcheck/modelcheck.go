// Package modelcheck checks within minutes whether a model is good enough for the llm policy. It sends labelled cases
// of every role to the endpoint. The cases use the production prompts, schemas and answer checks. The report covers
// reachability, the form of answers (right at first, after one repair, or never), right decisions and latency. It
// also says which setting to change when the model falls short.
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

// Tenant is the tenant of all requests of the check.
const Tenant = "model-check"

// Options select the checks.
type Options struct {
	// Roles are the roles to check; none means all.
	Roles []llm.Role
	// Formation and Recall are the services' settings, with the operator's own prompts.
	Formation formationllm.Options
	Recall    recallllm.Options
	// Parallel is the number of concurrent cases; 0 means one.
	Parallel int
	// Prompt is the length in tokens of the longest prompt that probes the window. It is limited to the longest
	// prompt of the role. 0 turns the probe off.
	Prompt int64
	// PriceIn and PriceOut are the prices of a million tokens of prompts and of answers.
	PriceIn, PriceOut float64
	// Done is called after each case, possibly from several goroutines at once; nil is ignored.
	Done func()
}

// Roles returns the roles that have cases, in the order of the pipeline.
func Roles() []llm.Role {
	return []llm.Role{llm.RoleFilter, llm.RoleExtractor, llm.RoleManager, llm.RoleUtilizer, llm.RoleGenerator}
}

// subject is the target of the cases.
type subject struct {
	filter    *formationllm.Filter
	former    *salimory.LLM
	profiler  *recallllm.Profiler
	generator *recallllm.Generator
}

// Cases is the number of cases of the roles.
func Cases(roles []llm.Role) int {
	n := 0
	for _, r := range roles {
		n += len(cases()[r])
	}
	return n
}

// Run sends the cases to the models of an endpoint. Its error means that no case was sent: bad settings, bad prompts,
// or an ended ctx. Mistakes of a model are in the report.
func Run(ctx context.Context, cfg llm.Config, o Options) (Report, error) {
	cfg.Breaker = llm.Breaker{}           // a failure of one role's model must not block the other roles
	cfg.Retry.Max = min(cfg.Retry.Max, 1) // an unreachable endpoint must be reported soon
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
		results, stopped := ask(ctx, s, role, cfg.TimeoutFor(role), vain, o)
		r := summarize(role, cfg, results, stopped)
		if stopped != "" {
			vain = 1 // one case decides whether the role or the endpoint fails
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

// result is the outcome of a case.
type result struct {
	name          string
	wrong         string
	failure       string // the reason for no usable answer; empty for a usable one
	thinks        bool
	calls         int64
	input, output int64
	took          time.Duration
}

// most is the limit of failures in a row because of the endpoint. At this limit the rest of the role is skipped.
const most = 3

// ask sends the cases of a role to its model. It sends one case at a time until one is answered, and then several at
// once. It gives up when the endpoint causes vain failures in a row. Until the first answer, a case has the timeout of
// one request, so that a hanging endpoint is found soon. It returns why it skipped the rest, if it did.
func ask(
	ctx context.Context, s subject, role llm.Role, timeout time.Duration, vain int, o Options,
) (out []result, stopped string) {
	cases := cases()[role]
	out = make([]result, len(cases))
	places := make(chan struct{}, max(1, o.Parallel))
	var mu sync.Mutex // guards the variables below
	inVain, answered := 0, false
	put := func(ctx context.Context, i int) {
		r := one(ctx, s, role, cases[i])
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
			out[i] = result{name: c.Name, failure: failNotAsked}
		case scout:
			bounded, cancel := context.WithTimeout(ctx, timeout)
			put(bounded, i)
			cancel()
		default:
			under.Go(func() {
				put(ctx, i)
				<-places
				printReport(o)
			})
			continue
		}
		<-places
		printReport(o)
	}
	under.Wait()
	return out, stopped
}

func printReport(o Options) {
	if o.Done != nil {
		o.Done()
	}
}

func one(ctx context.Context, s subject, role llm.Role, c labelled) result {
	var used llm.Usage
	var came seen
	began := time.Now()
	wrong, err := asking[role](c, watched(llm.WithUsage(ctx, &used), &came), s)
	out := result{
		name: c.Name, wrong: wrong, calls: used.Calls(), input: used.InputTokens(), output: used.OutputTokens(),
		took: time.Since(began),
	}
	if err != nil {
		out.failure = failure(err, &came)
	}
	out.thinks = came.thought()
	return out
}

// quantile returns the quantile q of sorted durations, or 0 for none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// summarize builds the report of a role.
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
