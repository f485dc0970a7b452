package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/mneme-memory/mneme/evaluation/recall"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// How the sweep names the weights of what is measured.
const (
	sweptAsTheyAre = "weights as they are"
	sweptMaps      = "residual maps on"
	sweptNoMaps    = "weights without residual maps"
)

// vary says what is measured beside the stack, and what is swept: every time what is cold, and what the flags ask for. Of a Mneme that ran
// already there are no variants.
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
	prior.Weights.FeatureSet = features.FeatureSet // and not of the file that it came from
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

// without are the settings of a Mneme that lacks something, and nothing else: it has just been started, and no time is measured, so it
// waits for whatever a recall could do without.
func (m *measured) without(a recall.Ablation, prior ranking.Prior, number int) (map[string]string, error) {
	settings := map[string]string{}
	for _, timeout := range [...]string{
		"MNEME_RECALL_INDEX_TIMEOUT", "MNEME_RECALL_RERANK_TIMEOUT", "MNEME_RECALL_WINDOW_TIMEOUT", "MNEME_RERANKER_LOAD_TIMEOUT",
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
	made, err := newClients(where, m.tel)
	if err != nil {
		return nil, nil, errors.Join(err, stop(ctx))
	}
	return made.UtilizerServiceClient, stop, nil
}
