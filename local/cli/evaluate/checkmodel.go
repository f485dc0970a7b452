package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/modelcheck"
	"github.com/mneme-memory/mneme/local/command"
	formationllm "github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/platform/config"
	recallllm "github.com/mneme-memory/mneme/shared/recall/llm"
)

func (c commands) check() *cobra.Command {
	return command.Group("check", "Check a model or a gateway that Mneme is to work with", "", c.checkModel(),
		c.checkGateway())
}

// checkModelArgs are the flags of check model.
type checkModelArgs struct {
	roles            []string
	minRight         float64
	parallel         int
	priceIn, priceUp float64
	window           int64
	wrong            bool
}

// modelSettings are the service settings that the requests to a model use.
type modelSettings struct {
	Endpoint  llm.Config           `envPrefix:"MNEME_LLM_"`
	Formation formationllm.Options `envPrefix:"MNEME_LLM_"`
	Recall    recallllm.Options    `envPrefix:"MNEME_LLM_"`
}

func (c commands) checkModel() *cobra.Command {
	a := checkModelArgs{minRight: 0.8, parallel: 4, window: 8192}
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Check whether a model is good enough for the llm policy",
		Long: "model sends about sixty labelled cases to the endpoint of MNEME_LLM_*, role by role, with the prompts,\n" +
			"schemas and checks of the services. It prints how many answers are valid at first or after one repair, how\n" +
			"many decisions are right, the latency, the cost, and settings to change if the model is too weak. It needs\n" +
			"only the endpoint. If the endpoint does not answer, it stops after a few cases.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runCheckModel(cmd.Context(), a) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&a.roles, "role", nil, "roles to check: "+command.Names(modelcheck.Roles())+" (default: all)")
	f.Float64Var(&a.minRight, "min-right", a.minRight,
		"smallest share of right decisions for each role, 0 to 1; below it the exit code is 1")
	f.IntVar(&a.parallel, "parallel", a.parallel, "number of parallel cases")
	f.Float64Var(&a.priceIn, "price-in", 0, "price of a million input tokens, for the cost")
	f.Float64Var(&a.priceUp, "price-out", 0, "price of a million output tokens, for the cost")
	f.Int64Var(&a.window, "window-probe", a.window,
		"tokens of a prompt that tests MNEME_LLM_WINDOW, at most its size; 0 sends none")
	f.BoolVar(&a.wrong, "errors", false, "print each wrong case")
	return cmd
}

func (a checkModelArgs) options() (modelcheck.Options, error) {
	o := modelcheck.Options{Parallel: a.parallel, Prompt: a.window, PriceIn: a.priceIn, PriceOut: a.priceUp}
	for _, name := range a.roles {
		if !slices.Contains(modelcheck.Roles(), llm.Role(name)) {
			return o, command.Usage(fmt.Errorf("--role is %q, want one of %s", name, command.Names(modelcheck.Roles())))
		}
		o.Roles = append(o.Roles, llm.Role(name))
	}
	if len(o.Roles) == 0 {
		o.Roles = modelcheck.Roles()
	}
	switch {
	case a.minRight < 0 || a.minRight > 1:
		return o, command.Usage(fmt.Errorf("--min-right is %g, want 0 to 1", a.minRight))
	case a.parallel < 1 || a.parallel > 64:
		return o, command.Usage(fmt.Errorf("--parallel is %d, want 1 to 64", a.parallel))
	case a.window < 0:
		return o, command.Usage(fmt.Errorf("--window-probe is %d, want 0 or more", a.window))
	case a.priceIn < 0 || a.priceUp < 0:
		return o, command.Usage(errors.New("--price-in or --price-out is less than 0"))
	}
	return o, nil
}

// Errors of a check whose report already names the reason.
var (
	errModelUnreachable = command.Unreachable(errors.New("the endpoint of MNEME_LLM_BASE_URL does not answer"))
	errModelNotAsked    = errors.New("some cases were not sent, because the first ones failed")
)

// errModelFallsShort says that the model decides too few cases rightly. The report has the details.
var errModelFallsShort = errors.New("the share of right decisions is below --min-right")

func (c commands) runCheckModel(ctx context.Context, a checkModelArgs) error {
	o, err := a.options()
	if err != nil {
		return err
	}
	settings, err := config.Load[modelSettings](config.Environ())
	if err != nil {
		return command.Usage(err)
	}
	o.Formation, o.Recall = settings.Formation, settings.Recall
	bar := command.NewBar(c.Err, modelcheck.Cases(o.Roles), "cases")
	o.Done = func() { _ = bar.Add(1) } // a failed progress bar is no error
	report, err := modelcheck.Run(ctx, settings.Endpoint, o)
	_ = bar.Finish()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("check the model: %w", err)
	case err != nil:
		return command.Usage(fmt.Errorf("the model of MNEME_LLM_*: %w", err))
	}
	if c.JSON {
		err = command.WriteJSON(c.Out, report)
	} else {
		c.printModel(report, a)
	}
	switch {
	case err != nil:
		return err
	case !report.Reached():
		return errModelUnreachable
	case !report.Complete():
		return errModelNotAsked
	case report.Least() < a.minRight:
		return errModelFallsShort
	}
	return nil
}

func (c commands) printModel(report modelcheck.Report, a checkModelArgs) {
	t := c.Table("roles", "role", "model", "output form", "window", "valid at first", "repaired, unusable", "right",
		"p50, p95 ms", "tokens in, out", "cost")
	for _, r := range report.Roles {
		t.AppendRow(table.Row{
			r.Role, command.Printable(r.Model), cmp.Or(r.Form, "-"), r.Window, fmt.Sprintf("%d/%d", r.ValidFirst, r.Cases),
			fmt.Sprintf("%d, %d", r.ValidRepaired, r.Cases-r.ValidFirst-r.ValidRepaired), fmt.Sprintf("%.0f %%", 100*r.Share()),
			fmt.Sprintf("%v, %v", r.P50, r.P95), fmt.Sprintf("%d, %d", r.InputTokens, r.OutputTokens),
			fmt.Sprintf("%.4f", r.Cost),
		})
	}
	t.Render()
	for _, r := range report.Roles {
		for _, line := range r.Advice {
			fmt.Fprintf(c.Out, "%s: %s\n", r.Role, line)
		}
		for _, line := range r.Wrong {
			if a.wrong {
				fmt.Fprintf(c.Out, "%s: wrong: %s\n", r.Role, command.Printable(line))
			}
		}
	}
}
