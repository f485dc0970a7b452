package reinforcement

import (
	"context"
	"fmt"

	"github.com/mneme-memory/mneme/lab/practice"
)

// RMM tries the training data of its reranker: drawn orders against the best order, maps of the embeddings against no
// maps, and the embedded generator's citations against citations of evidence. It starts from untrained weights. The
// measures are of held-out questions of two made-up tenants, "friends" and "assistant".
func RMM(ctx context.Context, o ExperimentOptions) (Experiment, error) {
	out := Experiment{Paper: "rmm", Claim: "drawn orders teach more than the best one; maps help; a generator's own citations are enough"}
	arms := []struct {
		name   string
		change func(*practice.Options)
	}{
		{"best order, maps, true citations", func(*practice.Options) {}},
		{"drawn orders", func(o *practice.Options) { o.Reranker.Explore = 1 }},
		{"without maps", func(o *practice.Options) { o.Reranker.LearningRate = 0 }},
		{"maps, a hundred times as fast", func(o *practice.Options) { o.Reranker.LearningRate *= 100 }},
		{"the generator's citations", func(o *practice.Options) { o.Generated = true }},
		{"untrained", nil},
	}
	if err := o.Validate(); err != nil {
		return out, err
	}
	trials := make([]trial, len(arms)*o.Seeds)
	done := o.progress(len(trials))
	err := each(ctx, o.Seeds, func(ctx context.Context, seed int) error {
		base, err := practice.Defaults()
		if err != nil {
			return err
		}
		base.Seed, base.Conversations, base.Sessions = uint64(seed)+1, 3*o.Held, o.Options.Sessions //nolint:gosec // not negative
		base.Steps, base.Every = 20*o.Options.Persons*o.Options.Sessions/8, 1
		prepared, err := practice.Prepare(ctx, base)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed+1, err)
		}
		for a, arm := range arms {
			settings := base
			if arm.change == nil {
				settings.Steps = 0
			} else {
				arm.change(&settings)
			}
			qualities, err := prepared.Learn(ctx, settings)
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", arm.name, seed+1, err)
			}
			t := trial{measures: map[string]float64{}}
			for tenant, q := range qualities {
				t.measures["recall@5/"+tenant], t.measures["useful/"+tenant] = q.Recall5, q.Useful
			}
			trials[a*o.Seeds+seed] = t
			done()
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	names := make([]string, len(arms))
	for i, arm := range arms {
		names[i] = arm.name
	}
	out.Arms = reports(StartWeak, names, trials)
	return out, nil
}
