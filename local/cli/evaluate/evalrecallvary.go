package evaluate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/mneme-memory/mneme/evaluation/recall"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// Names of the service's weights in a sweep.
const (
	sweptAsTheyAre = "weights as they are"
	sweptMaps      = "residual maps on"
	sweptNoMaps    = "weights without residual maps"
)

// vary adds the variants and the sweep to the options. It always adds the cold variant, and then the variants of the
// flags. A Mneme that ran before the command has no variants.
func (m *measured) vary(a recallArgs, o *recall.Options) error {
	if a.sweep {
		o.Sweep = sweptAsTheyAre
	}
	if m.stack == nil {
		return nil
	}
	settings, err := config.Load[wiring.Prior](m.stack.Settings())
	if err != nil {
		return command.Usage(err)
	}
	prior, err := settings.Open()
	if err != nil {
		return command.Usage(err)
	}
	prior.Weights.FeatureSet = features.FeatureSet // and not the feature set of the prior's file
	ablations := []recall.Ablation{recall.Cold()}
	if a.ablate {
		ablations = append(ablations, recall.Ablations()...)
	}
	if a.sweep {
		o.Sweep = sweptNoMaps
		if len(prior.Weights.Aq) > 0 {
			o.Sweep, ablations = sweptMaps, append(ablations, recall.WithoutMaps())
		}
	}
	for i, one := range ablations {
		with, err := m.without(one, prior, i)
		if err != nil {
			return err
		}
		o.Variants = append(o.Variants, recall.Variant{
			Name: one.Name, Candidates: one.Candidates, Swept: one.Maps || one.Candidates > 0,
			Open: func(ctx context.Context) (mnemev1connect.UtilizerServiceClient, func(context.Context) error, error) {
				return m.openBeside(ctx, with)
			},
		})
	}
	return nil
}

// without returns the settings of a Mneme without one part. This Mneme has just started and is not timed, so it waits
// for every optional part of a recall.
func (m *measured) without(a recall.Ablation, prior ranking.Prior, number int) (map[string]string, error) {
	settings := map[string]string{}
	for _, timeout := range [...]string{
		"MNEME_RECALL_INDEX_TIMEOUT", "MNEME_RECALL_RERANK_TIMEOUT", "MNEME_RECALL_WINDOW_TIMEOUT",
		"MNEME_RERANKER_LOAD_TIMEOUT",
	} {
		settings[timeout] = "10s"
	}
	maps.Copy(settings, a.Settings)
	if !a.Reweighs() {
		return settings, nil
	}
	without, err := a.Prior(prior)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(m.dir, fmt.Sprintf("prior-%d.json", number))
	settings["MNEME_RERANKER_PRIOR"] = file
	data, err := ranking.EncodePrior(without)
	if err != nil {
		return nil, err
	}
	return settings, os.WriteFile(file, data, 0o600)
}

func (m *measured) openBeside(
	ctx context.Context, settings map[string]string,
) (mnemev1connect.UtilizerServiceClient, func(context.Context) error, error) {
	where, stop, err := m.stack.Beside(ctx, settings)
	if err != nil {
		return nil, nil, err
	}
	made, err := console.NewClients(where, m.Telemetry)
	if err != nil {
		return nil, nil, errors.Join(err, stop(ctx))
	}
	return made.UtilizerServiceClient, stop, nil
}
