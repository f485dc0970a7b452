package ranking_test

import (
	"math"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/ranking"
)

func TestTopOrdersByScoreAndThenByID(t *testing.T) {
	candidates := []ranking.Candidate{{ID: "d"}, {ID: "b"}, {ID: "c"}, {ID: "a"}}
	scores := []float64{1, 2, 1, 2}
	for k, want := range map[int][]int{-1: {}, 0: {}, 1: {3}, 3: {3, 1, 2}, 4: {3, 1, 2, 0}, 9: {3, 1, 2, 0}} {
		if got := ranking.Top(candidates, scores, k); !slices.Equal(got, want) {
			t.Errorf("top %d are %v, want %v", k, got, want)
		}
	}
}

// TestSampleDrawsPlackettLuce counts the ordered pairs that are drawn and compares them with their probabilities by chi
// square.
func TestSampleDrawsPlackettLuce(t *testing.T) {
	const draws = 60000
	candidates := []ranking.Candidate{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}
	scores := []float64{0.5, 0, -0.4, 0.2}
	for _, temperature := range []float64{0.5, 2} {
		s := ranking.DefaultSettings()
		s.Temperature = temperature
		random, counts := source(11), map[[2]int]float64{}
		for range draws {
			order := s.Sample(random, candidates, scores, 2)
			counts[[2]int(order)]++
		}
		if len(counts) != 12 {
			t.Fatalf("drew %d ordered pairs, want all 12", len(counts))
		}
		distance := 0.0
		for pair, n := range counts {
			p := logProbabilities(scores, pair[:], temperature)
			expected := draws * math.Exp(p[0]+p[1])
			distance += (n - expected) * (n - expected) / expected
		}
		if distance > 31.26 { // 11 degrees of freedom: one fair sampler in a thousand is beyond
			t.Errorf("at temperature %v chi square is %.1f, want at most 31.26", temperature, distance)
		}
	}
}

func TestSampleFollowsItsSource(t *testing.T) {
	tr, s := trace(source(1), 50, 1, 0, 1), ranking.DefaultSettings()
	scores := make([]float64, 50)
	first := s.Sample(source(5), tr.Candidates, scores, 10)
	if again := s.Sample(source(5), tr.Candidates, scores, 10); !slices.Equal(first, again) {
		t.Errorf("one seed drew %v and %v", first, again)
	}
	if other := s.Sample(source(6), tr.Candidates, scores, 10); slices.Equal(first, other) {
		t.Errorf("two seeds drew the same ten of fifty equal ones, %v", first)
	}
}

func TestSettingsRefuse(t *testing.T) {
	if err := ranking.DefaultSettings().Validate(); err != nil {
		t.Fatal(err)
	}
	for field, breaks := range map[string]func(*ranking.Settings){
		"learning_rate":  func(s *ranking.Settings) { s.LearningRate = -1 },
		"feature_rate":   func(s *ranking.Settings) { s.FeatureRate = math.NaN() },
		"baseline":       func(s *ranking.Settings) { s.Baseline = 2 },
		"temperature":    func(s *ranking.Settings) { s.Temperature = 0 },
		"batch":          func(s *ranking.Settings) { s.Batch = 0 },
		"clip_norm":      func(s *ranking.Settings) { s.ClipNorm = 0 },
		"feature_radius": func(s *ranking.Settings) { s.FeatureRadius = math.Inf(1) },
		"map_radius":     func(s *ranking.Settings) { s.MapRadius = -1 },
	} {
		s := ranking.DefaultSettings()
		breaks(&s)
		wantField(t, s.Validate(), field)
	}
}
