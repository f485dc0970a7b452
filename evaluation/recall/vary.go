package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// VariantFigures are the figures of a variant, without abstention and the cascade.
type VariantFigures struct {
	Name string `json:"name"`
	Figures
}

// Swept is recall with a given number of candidates.
type Swept struct {
	// Weights names the weights behind the order.
	Weights    string `json:"weights"`
	Candidates int    `json:"candidates"`
	Figures
}

// sweptCandidates are the measured numbers of candidates, up to the highest number of a request.
func sweptCandidates() []int { return []int{20, 50, 100, 200} }

// responder answers recalls: the measured service, or a variant of it.
type responder func(context.Context, *mnemev1.RecallRequest) (*mnemev1.RecallResponse, error)

// vary measures the variants, one after the other.
func (r *run) vary(ctx context.Context) error {
	for _, v := range r.Variants {
		if err := r.variant(ctx, v); err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	return nil
}

func (r *run) variant(ctx context.Context, v Variant) (err error) {
	utilizer, stop, err := v.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop(context.WithoutCancel(ctx))) }()
	respond := func(ctx context.Context, req *mnemev1.RecallRequest) (*mnemev1.RecallResponse, error) {
		res, err := utilizer.Recall(ctx, connect.NewRequest(req))
		if err != nil {
			return nil, err
		}
		r.note(res.Msg, v.Name+": ")
		return res.Msg, nil
	}
	f, err := r.measure(ctx, v.Name, func(ctx context.Context, a *asked) (sample, error) {
		s, err := r.show(ctx, a, respond, cmp.Or(v.Candidates, r.Candidates), judgedWords)
		return a.profileSample(s), err
	})
	if err != nil {
		return err
	}
	r.report.Variants = append(r.report.Variants, VariantFigures{v.Name, f})
	if r.Sweep == "" || !v.Swept {
		return nil
	}
	return r.sweep(ctx, v.Name, respond)
}

// sweepServed sweeps the measured service, if configured.
func (r *run) sweepServed(ctx context.Context) error {
	if r.Sweep == "" {
		return nil
	}
	return r.sweep(ctx, r.Sweep, r.respond)
}

// sweep measures the order by the number of candidates.
func (r *run) sweep(ctx context.Context, weights string, respond responder) error {
	for _, candidates := range sweptCandidates() {
		f, err := r.measure(ctx, weights+", "+strconv.Itoa(candidates)+" candidates",
			func(ctx context.Context, a *asked) (sample, error) {
				res, err := respond(ctx, a.request(candidates, ranks()[len(ranks())-1], wideBudget))
				return a.order(res.GetCited()), err
			})
		if err != nil {
			return err
		}
		r.report.Sweep = append(r.report.Sweep, Swept{weights, candidates, f})
	}
	return nil
}

// measure samples every question that names evidence.
func (r *run) measure(
	ctx context.Context, what string, do func(context.Context, *asked) (sample, error),
) (Figures, error) {
	samples := make([]sample, len(r.asked))
	err := r.each(ctx, what+":", func(ctx context.Context, i int) (err error) {
		a := r.asked[i]
		if samples[i] = a.blank(); a.question.HasEvidence() ||
			!a.question.Unanswerable && len(a.question.EvidenceSessions) > 0 {
			samples[i], err = do(ctx, a)
		}
		return err
	})
	return figures(samples, r.clustered()), err
}
