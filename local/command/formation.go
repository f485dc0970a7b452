package command

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// formationSettings come from the environment, as in the services.
type formationSettings struct {
	Model     wiring.Model
	Formation wiring.FormationOptions
}

// Formation holds the flags that choose the strategies to measure.
type Formation struct {
	Strategies       []string
	Policy, Saliency string
}

// Flags adds the flags.
func (a *Formation) Flags(f *pflag.FlagSet) {
	f.StringSliceVar(&a.Strategies, "strategy", nil, "strategies to measure, in this order (default: all)")
	f.StringVar(&a.Policy, "policy", string(tenant.PolicyEmbedded), "embedded, or llm with the model of MNEME_LLM_*")
	f.StringVar(&a.Saliency, "saliency", "", "mode of the filter for all strategies: gate, mark or off (default: the "+
		"mode of each strategy)")
}

// names returns the strategies to measure, each once.
func (a Formation) names() ([]string, error) {
	if modes := memory.SaliencyModes(); a.Saliency != "" && !slices.Contains(modes, memory.SaliencyMode(a.Saliency)) {
		return nil, Usage(fmt.Errorf("--saliency is %q, want one of %q", a.Saliency, modes))
	}
	asked := a.Strategies
	if len(asked) == 0 {
		asked = StrategyNames()
	}
	var names []string
	for _, name := range asked {
		if err := CheckFormation(name, a.Policy); err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Open opens the strategies to measure. Call free after their last use. errOut receives errors of models.
func (a Formation) Open(ctx context.Context, errOut io.Writer) (_ []formation.Variant, free func(), err error) {
	names, err := a.names()
	if err != nil {
		return nil, nil, err
	}
	settings, err := config.Load[formationSettings](config.Environ())
	if err != nil {
		return nil, nil, Usage(err)
	}
	tel, err := telemetry.New(ctx, "mneme-eval", "", telemetry.Config{LogLevel: "error", LogFormat: "text"}, errOut)
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
		v := formation.Variant{Strategy: name, Policy: a.Policy, Saliency: memory.SaliencyMode(a.Saliency)}
		if v.Saliency == "" {
			v.Saliency = tenant.Strategy(name).Saliency()
		}
		if v.Filter, err = filters.Find(tenant.Policy(a.Policy)); err == nil {
			v.Former, err = formers.Find(name, a.Policy)
		}
		if err != nil {
			free()
			return nil, nil, err
		}
		out = append(out, v)
	}
	return out, free, nil
}

// JudgeSettings name two models: one answers from the whole history, the other marks answers. Without a name for the
// second, the first one marks.
type JudgeSettings struct {
	Endpoint llm.Config `envPrefix:"MNEME_LLM_"`
	Judge    llm.Config `envPrefix:"MNEME_JUDGE_"`
}
