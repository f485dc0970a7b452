package classifier_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/model/classifier"
)

func TestTermsAreWordsMarksAndNeighbours(t *testing.T) {
	got := classifier.TermsOf("I don’t eat fish, I don't!")
	want := []string{"i", "don't", "i don't", "eat", "don't eat", "fish", "eat fish", ",", "fish ,", ", i", "!", "don't !"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := classifier.TermsOf("42 — "); len(got) != 0 {
		t.Errorf("of no words: %q", got)
	}
}

func TestParseRefusesOtherFiles(t *testing.T) {
	for name, data := range map[string]string{
		"no JSON": "{", "no version": `{"weights":{"a":1}}`, "no weights": `{"version":"x"}`,
		"a threshold of 1": `{"version":"x","weights":{"a":1},"threshold":1}`,
	} {
		if _, err := classifier.Parse[classifier.Terms]([]byte(data)); !errors.Is(err, classifier.ErrModel) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestShippedPanicsForAFileThatIsNoModel(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a file without a model is loaded")
		}
	}()
	classifier.Shipped("nothing", nil, classifier.Parse[classifier.Terms])()
}

func TestLinearAddsTheWeightsOfFeatures(t *testing.T) {
	features := []classifier.Feature{{Key: 1, Value: 2}, {Key: 7, Value: 1}, {Key: 9, Value: 100}}
	keyed := classifier.Linear{Keys: []uint32{1, 7}, Weights: []byte{1, 255, 3, 4}, Scales: []float64{0.5, 2},
		Bias: []float64{1, -1}}
	if got, want := keyed.Logits(features), []float64{1 + 1 + 1.5, -1 - 4 + 8}; !slices.Equal(got, want) {
		t.Errorf("with keys: %v, want %v", got, want)
	}
	rows := classifier.Linear{Weights: []byte{0, 3}, Scales: []float64{0.5}, Bias: []float64{1}}
	if got := rows.Logits(features); !slices.Equal(got, []float64{4}) {
		t.Errorf("with rows: %v, want [4]", got)
	}
	p := keyed.Probabilities(features)
	if math.Abs(p[0]+p[1]-1) > 1e-12 || math.Abs(math.Log(p[0]/p[1])-0.5) > 1e-9 {
		t.Errorf("probabilities %v", p)
	}
}

func TestQuantizeKeepsWeightsToHalfAStep(t *testing.T) {
	weights := []float32{0.25, -1.27, 0, 0.004}
	step, bytes := classifier.Quantize(weights)
	for i, w := range weights {
		if got := float32(int8(bytes[i])) * step; math.Abs(float64(got-w)) > float64(step)/2 {
			t.Errorf("%v became %v in steps of %v", w, got, step)
		}
	}
	if step, bytes := classifier.Quantize(make([]float32, 2)); step != 0 || !slices.Equal(bytes, []byte{0, 0}) {
		t.Errorf("of zeros: step %v, %v", step, bytes)
	}
}
