package score_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/evaluation/score"
)

func TestCoverage(t *testing.T) {
	shown := []score.Shown{{Sources: []string{"a"}}, {Sources: []string{"a", "b"}}, {Sources: []string{"d"}}}
	for name, c := range map[string]struct {
		evidence []string
		shown    []score.Shown
		want     float64
	}{
		"all":                 {[]string{"a", "b"}, shown, 1},
		"half":                {[]string{"a", "c"}, shown, 0.5},
		"a turn counts once":  {[]string{"a", "a", "c"}, shown, 0.5},
		"none":                {[]string{"c"}, shown, 0},
		"nothing shown":       {[]string{"a"}, nil, 0},
		"nothing to be shown": {nil, shown, 0},
	} {
		if got := score.Coverage(c.evidence, c.shown); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestCoverageNeverFallsWithMoreShown(t *testing.T) {
	ids := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c", "d"}))
	rapid.Check(t, func(t *rapid.T) {
		evidence := ids.Draw(t, "evidence")
		var shown []score.Shown
		last := 0.0
		for range rapid.IntRange(0, 6).Draw(t, "memories") {
			shown = append(shown, score.Shown{Sources: ids.Draw(t, "sources")})
			got := score.Coverage(evidence, shown)
			if got < last || got > 1 {
				t.Fatalf("%v after %v", got, last)
			}
			last = got
		}
	})
}

func TestContains(t *testing.T) {
	shown := []score.Shown{{Text: "Iris bought a tandem."}, {Text: "It was green."}}
	for answer, want := range map[string]bool{"green tandems": true, "the Green tandem": true, "a red tandem": false} {
		if got := score.Contains(shown, answer); got != want {
			t.Errorf("%q: %v, want %v", answer, got, want)
		}
	}
}

func TestF1AndBLEU1(t *testing.T) {
	for name, c := range map[string]struct {
		answer, gold string
		f1, bleu     float64
	}{
		"equal but for form": {"The green Tandem! [1]", "a green tandem", 1, 1},
		"half":               {"green scooter", "green tandem", 0.5, 0.5},
		"longer":             {"it was a green tandem", "green tandem", 2.0 / 3, 0.5}, // it was green tandem
		"shorter":            {"tandem", "green tandem", 2.0 / 3, math.Exp(-1)},
		"repeated":           {"green green", "green", 2.0 / 3, 0.5},
		"no answer":          {"[NO_CITE]", "green", 0, 0},
		"neither":            {"", "the", 1, 0},
		"brackets kept":      {"[Oslo] [2, 3]", "oslo", 1, 1},
	} {
		if f1, bleu := score.F1(c.answer, c.gold),
			score.BLEU1(c.answer, c.gold); math.Abs(f1-c.f1) > 1e-9 || math.Abs(bleu-c.bleu) > 1e-9 {
			t.Errorf("%s: F1 %v, BLEU-1 %v, want %v and %v", name, f1, bleu, c.f1, c.bleu)
		}
	}
}

func FuzzAnswerScores(f *testing.F) {
	f.Add("The green tandem [1]", "tandem")
	f.Add("[", "]")
	f.Fuzz(func(t *testing.T, answer, gold string) {
		for _, v := range []float64{score.F1(answer, gold), score.BLEU1(answer, gold)} {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("%v for %q and %q", v, answer, gold)
			}
		}
		if score.F1(answer, gold) != score.F1(gold, answer) {
			t.Fatalf("F1 depends on the side for %q and %q", answer, gold)
		}
	})
}

func TestHalfOrMost(t *testing.T) {
	shares := []float64{0.4, 0.5, 1, 0, 0.4}
	for _, c := range []struct{ of, want []int }{
		{[]int{0, 1, 2, 1, 3}, []int{1, 2}}, {[]int{3, 0, 4}, []int{0}}, {[]int{3}, nil}, {nil, nil},
	} {
		if got := score.HalfOrMost(c.of, func(i int) float64 { return shares[i] }); !slices.Equal(got, c.want) {
			t.Errorf("of %v: %v, want %v", c.of, got, c.want)
		}
	}
}
