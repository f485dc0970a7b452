package ranking_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/ranking"
)

var featureNames = []string{"words", "date", "speaker", "age"}

func priorJSON(t testing.TB) string {
	t.Helper()
	w := prior()
	w.Aq, w.Am = []float32{0.1}, []float32{-0.3}
	b, err := ranking.EncodePrior(ranking.Prior{Names: featureNames, Weights: w, Embedding: "some/8"})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPriorsComeBack(t *testing.T) {
	got, err := ranking.DecodePrior([]byte(priorJSON(t)), set, featureNames)
	if err != nil {
		t.Fatal(err)
	}
	want := ranking.Prior{Names: featureNames, Weights: prior(), Embedding: "some/8"}
	want.Weights.Aq, want.Weights.Am = []float32{0.1}, []float32{-0.3}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPriorsRefuse(t *testing.T) {
	good := priorJSON(t)
	for name, tt := range map[string]struct {
		json, set string
		names     []string
		field     string
		says      string
	}{
		"another set":        {good, "other", featureNames, "feature_set", set},
		"an unknown feature": {good, set, featureNames[:3], "features", `"age"`},
		"a missing feature":  {good, set, append([]string{"length"}, featureNames...), "features", `"length"`},
		"a repeated feature": {strings.Replace(good, `"date"`, `"words"`, 1), set, featureNames, "features",
			`"words" "words"`},
		"another order":  {good, set, []string{"age", "words", "date", "speaker"}, "features", `"age" "words"`},
		"another format": {strings.Replace(good, "prior/1", "prior/2", 1), set, featureNames, "format", "prior/2"},
		"a field of its own": {strings.Replace(good, `"format"`, `"colour": 1, "format"`, 1), set, featureNames, "",
			"colour"},
		"something after it": {good + "{}", set, featureNames, "", "end"},
		"a weight too large": {strings.Replace(good, `"weight": 0.5`, `"weight": 1e99`, 1), set, featureNames, "", "1e99"},
		"a feature of no size": {strings.Replace(good, `"scale": 2`, `"scale": 0`, 1), set, featureNames, "feature_scale",
			"0"},
		"maps of two sizes": {strings.Replace(good, "-0.3", "-0.3, 1", 1), set, featureNames, "am", "2"},
		"no JSON":           {"prior", set, featureNames, "", "not a prior"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ranking.DecodePrior([]byte(tt.json), tt.set, tt.names)
			wantField(t, err, tt.field)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v does not say %q", err, tt.says)
			}
			if another := tt.field == "features" || tt.field == "feature_set"; errors.Is(err, ranking.ErrFeatureSet) != another {
				t.Errorf("%v: is ErrFeatureSet should be %t", err, another)
			}
		})
	}
	_, err := ranking.EncodePrior(ranking.Prior{Names: featureNames[1:], Weights: prior()})
	wantField(t, err, "features")
	_, err = ranking.EncodePrior(ranking.Prior{Names: []string{"a", "b", "c", "a"}, Weights: prior()})
	wantField(t, err, "features.name")
}

func FuzzDecodePrior(f *testing.F) {
	f.Add(priorJSON(f))
	f.Add(`{"format":"mneme-ranking-prior/1"}`)
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ranking.DecodePrior([]byte(s), set, featureNames)
		if err != nil {
			return
		}
		b, err := ranking.EncodePrior(p)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ranking.DecodePrior(b, set, featureNames); err != nil || again.Weights.Distance(p.Weights) != 0 {
			t.Fatalf("read as %+v, and written and read again as %+v (%v)", p, again, err)
		}
	})
}
