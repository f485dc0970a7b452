package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// evalSettings are read from the environment, as the services read theirs.
type evalSettings struct {
	Model     wiring.Model
	Formation wiring.FormationOptions
}

// formationArgs are the flags of eval formation.
type formationArgs struct {
	file, policy string
	saliency     string
	strategies   []string
	seed         uint64
	persons      int
}

// eval is the parent of the commands that measure.
func (c *cli) eval() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure what Mneme makes of conversations",
		Args:  args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.evalFormation(), c.evalRecall(), c.evalLearning(), c.evalRelation(), c.evalCases(), c.evalTraining(), c.evalRelease())
	return cmd
}

func (c *cli) evalFormation() *cobra.Command {
	var a formationArgs
	cmd := &cobra.Command{
		Use:   "formation --data FILE",
		Short: "Measure what is kept of conversations, and what updates hit",
		Long: "formation forms the memories of the conversations of a file, in this process, in each strategy, and prints: the share of\n" +
			"turns the filter drops and of evidence turns it keeps; the share of short answers that are in the memories made from their\n" +
			"evidence; duplicates; memories per user; model calls and tokens per session. Updates are measured on made-up people, whose truth is " +
			"known.\n" +
			"FILE is LoCoMo's JSON, or a file as ingest takes it, which has no questions.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEvalFormation(cmd.Context(), a) },
	}
	f := cmd.Flags()
	f.StringVar(&a.file, "data", "", "the file of conversations")
	f.StringSliceVar(&a.strategies, "strategy", nil, "strategies to measure, the first on top (all)")
	f.StringVar(&a.policy, "policy", string(tenant.PolicyEmbedded), "embedded, or llm with the model of MNEME_LLM_*")
	f.StringVar(&a.saliency, "saliency", "", "gate, mark or off, for all strategies (what each has by default)")
	f.Uint64Var(&a.seed, "seed", 3001, "chooses the made-up people; nothing was trained on seeds from 1000 on")
	f.IntVar(&a.persons, "persons", 10, "made-up people of either kind; 0 leaves them out")
	require(cmd, "data")
	return cmd
}

func (c *cli) runEvalFormation(ctx context.Context, a formationArgs) error {
	variants, free, err := c.variants(ctx, a)
	if err != nil {
		return err
	}
	defer free()
	report, err := formation.Evaluate(ctx, formation.Options{
		Path: a.file, Variants: variants, Embedder: builtin.New(), Seed: a.seed, Persons: a.persons, Progress: c.err,
	})
	if err != nil {
		return err
	}
	if c.json {
		return writeJSON(c.out, report)
	}
	return report.Render(c.out)
}

// check returns the strategies to measure, each once, or what is wrong with the flags.
func (a formationArgs) check() ([]string, error) {
	if a.persons < 0 {
		return nil, usageError{fmt.Errorf("--persons is %d, want 0 or more", a.persons)}
	}
	if modes := memory.SaliencyModes(); a.saliency != "" && !slices.Contains(modes, memory.SaliencyMode(a.saliency)) {
		return nil, usageError{fmt.Errorf("--saliency is %q, want one of %q", a.saliency, modes)}
	}
	asked := a.strategies
	if len(asked) == 0 {
		asked = strategyNames()
	}
	var names []string
	for _, name := range asked {
		if err := checkFormation(name, a.policy); err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// variants opens what is to be measured.
func (c *cli) variants(ctx context.Context, a formationArgs) (_ []formation.Variant, free func(), err error) {
	names, err := a.check()
	if err != nil {
		return nil, nil, err
	}
	settings, err := config.Load[evalSettings](config.Environ())
	if err != nil {
		return nil, nil, usageError{err}
	}
	tel, err := telemetry.New(ctx, "mneme-eval", "", telemetry.Config{LogLevel: "error", LogFormat: "text"}, c.err)
	if err != nil {
		return nil, nil, err
	}
	filters, closeFilters, err := settings.Model.OpenFilters(settings.Formation, tel)
	if err != nil {
		return nil, nil, err
	}
	formers, closeFormers, err := settings.Model.OpenFormers(settings.Formation, tel)
	if err != nil {
		_ = closeFilters()
		return nil, nil, err
	}
	free = func() { _, _, _ = closeFilters(), closeFormers(), tel.Shutdown(context.WithoutCancel(ctx)) }
	var out []formation.Variant
	for _, name := range names {
		v := formation.Variant{Strategy: name, Policy: a.policy, Saliency: memory.SaliencyMode(a.saliency)}
		if v.Saliency == "" {
			v.Saliency = tenant.Strategy(name).Saliency()
		}
		if v.Filter, err = filters.Find(tenant.Policy(a.policy)); err == nil {
			v.Former, err = formers.Find(name, a.policy)
		}
		if err != nil {
			free()
			return nil, nil, err
		}
		out = append(out, v)
	}
	return out, free, nil
}
