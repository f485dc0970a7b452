package recall_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/recall"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

func TestAnAblationLeavesOutWhatItNames(t *testing.T) {
	shipped, err := features.Prior()
	if err != nil {
		t.Fatal(err)
	}
	shipped.Weights.Aq, shipped.Weights.Am = []float32{1}, []float32{1}
	for _, a := range append(recall.Ablations(), recall.WithoutMaps()) {
		if !a.Reweighs() {
			continue
		}
		got, err := a.Prior(shipped)
		if err != nil {
			t.Errorf("%s: %v", a.Name, err)
			continue
		}
		for i, name := range shipped.Names {
			want := shipped.Weights.W[i]
			if _, number, _ := strings.Cut(name, "_"); slices.Contains(a.Features, number) {
				want = 0
			}
			if got.Weights.W[i] != want {
				t.Errorf("%s: %s weighs %v, want %v", a.Name, name, got.Weights.W[i], want)
			}
		}
		if (got.Weights.Aq == nil) != a.Maps || (got.Weights.Am == nil) != a.Maps {
			t.Errorf("%s: maps %v and %v", a.Name, got.Weights.Aq, got.Weights.Am)
		}
	}
	if _, err := (recall.Ablation{Features: []string{"luck"}}).Prior(shipped); !fault.IsTerminal(err) {
		t.Errorf("a feature that there is not: %v", err)
	}
}
