package practice

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/evaluation/score"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
	weightsinmem "github.com/mneme-memory/mneme/shared/store/weights/inmem"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// experiment is one run of all tenants from one start.
type experiment struct {
	Options
	start string
	prior ranking.Prior
	wrong float64

	server  *reranker.Server
	learner *reranker.Learner
	traces  *announced
	now     time.Time
	took    []float64
	final   []ranking.Weights
}

// simulatedTenant is a tenant in a run.
type simulatedTenant struct {
	*practice
	run Run
	// order is the order of the questions in this pass, at is the next index. A run's citations do not change the
	// order of the next pass.
	shuffle, labelNoise *rand.Rand
	order               []int
	at                  int
	// recalls counts the tenant's recalls, so that its random numbers do not depend on other tenants.
	recalls int
	// shown and useful count since the last point.
	shown, useful int
}

// announced signals the end of a trace's write. The reranker writes traces in the background.
type announced struct {
	weights.Store
	kept chan error
}

// PutTrace implements weights.Traces.
func (a *announced) PutTrace(ctx context.Context, scope memory.Scope, recallID string, trace []byte) error {
	err := a.Store.PutTrace(ctx, scope, recallID, trace)
	a.kept <- err
	return err
}

// open assembles the reranker.
func (r *experiment) open(tenants []*practice) error {
	r.now = time.Date(2024, time.January, 1, 12, 0, 0, 0, time.UTC)
	// The reranker learns from a trace before it makes the next, and keeps the report's id as long.
	limits := weights.Limits{Versions: 2, Traces: 2, TraceTTL: time.Minute}
	clock := func() time.Time { return r.now }
	store, err := weightsinmem.New(limits, clock)
	if err != nil {
		return err
	}
	r.traces = &announced{Store: store, kept: make(chan error, 1)}
	var entries []tenant.Entry
	for _, t := range tenants {
		entries = append(entries, tenant.Entry{Tenant: tenant.Tenant{ID: t.name}, APIKeys: []string{tenant.HashKey(t.name)}})
	}
	known, err := tenant.Static(entries...)
	if err != nil {
		return err
	}
	r.server, r.learner, err = reranker.Assemble(reranker.Parts{
		Tenants: known, Store: r.traces, Prior: r.prior, Settings: r.Reranker, Limits: limits, Now: clock,
	}, telemetry.Discard())
	return err
}

// run has the tenants take turns, a report each, and appends their learning to the report.
func (r *experiment) run(ctx context.Context, tenants []*practice, report *Report) (err error) {
	if err := r.open(tenants); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.server.Recorder.Close(context.WithoutCancel(ctx))) }()
	simulated := r.enrol(tenants)
	for step := 0; ; step++ {
		if step%r.Every == 0 || step == r.Steps {
			for _, p := range simulated {
				if err := r.point(ctx, p, step); err != nil {
					return err
				}
			}
		}
		if step == r.Steps {
			break
		}
		for range r.Reranker.Batch {
			for _, p := range simulated {
				if err := r.update(ctx, p); err != nil {
					return fmt.Errorf("step %d of %s: %w", step, p.name, err)
				}
			}
		}
	}
	return r.conclude(ctx, simulated, report)
}

func (r *experiment) enrol(tenants []*practice) []*simulatedTenant {
	var simulated []*simulatedTenant
	for _, t := range tenants {
		random := func(use uint64) *rand.Rand { return rand.New(rand.NewPCG(r.Seed, 2*uint64(t.number)+use)) }
		simulated = append(simulated, &simulatedTenant{
			practice: t, shuffle: random(0), labelNoise: random(1),
			run: Run{Start: r.start, Wrong: r.wrong, Tenant: t.name, Elsewhere: map[string]Quality{}},
		})
	}
	return simulated
}

func (r *experiment) conclude(ctx context.Context, simulated []*simulatedTenant, report *Report) (err error) {
	for _, p := range simulated {
		w, _ := r.server.Cache.Weights(ctx, p.name)
		r.final = append(r.final, w)
		for _, other := range simulated {
			if other == p {
				continue
			}
			if p.run.Elsewhere[other.name], err = quality(other.held, w, r.Shown); err != nil {
				return err
			}
		}
		report.Runs = append(report.Runs, p.run)
	}
	return nil
}

// point measures the held-out questions by the reranker's current weights.
func (r *experiment) point(ctx context.Context, p *simulatedTenant, step int) error {
	w, _ := r.server.Cache.Weights(ctx, p.name)
	now, err := quality(p.held, w, r.Shown)
	if err != nil {
		return err
	}
	at := Point{Step: step, Quality: now, Asked: score.Share(p.useful, p.shown), Distance: w.Distance(r.prior.Weights)}
	p.run.Points = append(p.run.Points, at)
	p.shown, p.useful = 0, 0
	return nil
}

// next returns the next question. After the last, the questions come again in another order.
func (p *simulatedTenant) next() exercise {
	if p.at == len(p.order) {
		p.order, p.at = p.shuffle.Perm(len(p.streamed)), 0
	}
	p.at++
	return p.streamed[p.order[p.at-1]]
}

// update asks a question and reports the citations.
func (r *experiment) update(ctx context.Context, p *simulatedTenant) error {
	e := p.next()
	p.recalls++
	r.now = r.now.Add(time.Second)
	id := fmt.Sprintf("%d-%d", r.Seed, p.recalls)
	res, err := r.server.Rerank(tenant.NewContext(ctx, tenant.Tenant{ID: p.name}),
		connect.NewRequest(&mnemev1.RerankRequest{
			UserId: e.user, RecallId: id, FeatureSet: r.prior.Weights.FeatureSet, QueryVector: e.query, Candidates: e.candidates,
			Memories: uint32(r.Shown), //nolint:gosec // at most 100
		}))
	if err != nil {
		return fmt.Errorf("rerank: %w", err)
	}
	select {
	case err := <-r.traces.kept:
		if err != nil {
			return fmt.Errorf("keep trace: %w", err)
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	shown := make([]string, len(res.Msg.GetRanked()))
	for i, m := range res.Msg.GetRanked() {
		shown[i] = m.GetMemoryId()
	}
	return r.report(ctx, p, e.user, id, shown, p.cite(e, shown, r.wrong))
}

// cite returns the memories with evidence. A wrong citation names another shown memory in its place.
func (p *simulatedTenant) cite(e exercise, shown []string, wrong float64) []string {
	var right, others []string
	for _, id := range shown {
		if len(e.covers[id]) > 0 {
			right = append(right, id)
		} else {
			others = append(others, id)
		}
	}
	var cited []string
	for _, id := range right {
		if p.labelNoise.Float64() < wrong && len(others) > 0 {
			place := p.labelNoise.IntN(len(others))
			id = others[place]
			others = append(others[:place:place], others[place+1:]...)
			p.run.WrongCited++
		}
		cited = append(cited, id)
	}
	p.shown, p.useful = p.shown+len(shown), p.useful+len(right)
	p.run.Shown, p.run.Cited = p.run.Shown+len(shown), p.run.Cited+len(cited)
	return cited
}

// report sends the citations as the bus does, and measures the time.
func (r *experiment) report(ctx context.Context, p *simulatedTenant, user, id string, shown, cited []string) error {
	f := contract.Feedback{
		Envelope: contract.Envelope{EventID: id, Scope: memory.Scope{Tenant: p.name, User: user}},
		RecallID: id, Shown: shown, Cited: cited, Source: contract.CitationCaller, Time: r.now,
	}
	value, err := f.Encode()
	if err != nil {
		return fmt.Errorf("encode feedback: %w", err)
	}
	began := time.Now()
	if err := r.learner.Handle(ctx, []bus.Message{{Topic: contract.TopicFeedback, Key: f.Key(),
		Value: value}}); err != nil {
		return err
	}
	r.took = append(r.took, float64(time.Since(began).Nanoseconds())/1e3)
	return nil
}
