package score_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/evaluation/score"
)

func TestBootstrap(t *testing.T) {
	coin := []score.Unit{}
	for i := range 100 {
		coin = append(coin, score.Unit{Sum: float64(i % 2), N: 1})
	}
	got := score.Bootstrap(coin)
	// The standard error of 100 tosses is 0.05, so the interval is about 0.4 to 0.6.
	if got.Low < 0.37 || got.Low > 0.43 || got.High < 0.57 || got.High > 0.63 {
		t.Errorf("interval %+v, want about 0.4 to 0.6", got)
	}
	if again := score.Bootstrap(coin); again != got {
		t.Errorf("%+v, then %+v", got, again)
	}
	if raw, err := json.Marshal(score.Interval{Low: 0.25, High: 0.5}); err != nil || string(raw) != "[0.25,0.5]" {
		t.Errorf("json %s, %v", raw, err)
	}
	if none := score.Bootstrap([]score.Unit{{N: 0}}); none != (score.Interval{}) {
		t.Errorf("of nothing: %+v", none)
	}
}

// Questions of one conversation that are all alike carry the information of one question. The interval is wider than
// the interval of independent questions.
func TestConversationsAreDrawnAsAWhole(t *testing.T) {
	var questions, conversations []score.Unit
	for i := range 6 {
		conversations = append(conversations, score.Unit{Sum: float64(i%2) * 50, N: 50})
		for range 50 {
			questions = append(questions, score.Unit{Sum: float64(i % 2), N: 1})
		}
	}
	alone, whole := score.Bootstrap(questions), score.Bootstrap(conversations)
	if whole.High-whole.Low < 3*(alone.High-alone.Low) {
		t.Errorf("over conversations %+v, over questions %+v", whole, alone)
	}
}

func TestAnIntervalHoldsWithinTheFigures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := make([]score.Unit, rapid.IntRange(1, 12).Draw(t, "units"))
		for i := range units {
			units[i].N = rapid.IntRange(0, 4).Draw(t, "n")
			units[i].Sum = float64(units[i].N) * rapid.Float64Range(0, 1).Draw(t, "mean")
		}
		if got := score.Bootstrap(units); got.Low < 0 || got.High > 1+1e-9 || got.Low > got.High {
			t.Fatalf("%+v of %+v", got, units)
		}
	})
}
