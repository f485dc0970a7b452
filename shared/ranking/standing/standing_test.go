package standing_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/ranking/standing"
)

func TestWhatStandsScoresAboveTalk(t *testing.T) {
	m := standing.Shipped()
	stands := []string{
		"I can't eat anything with gluten, so bakeries are out for me.", "I usually prefer small, quiet hotels.",
		"Crowds make me anxious, always have.", "My knees are bad, so no stairs please.",
		"I only buy second-hand clothes these days.",
	}
	talk := []string{
		"Thanks, that helps a lot!", "Could you make the second paragraph shorter?", "Great, what should I do next?",
		"How long does it take to boil an egg?", "Ok, let's go with the first one.",
	}
	for _, s := range stands {
		for _, p := range talk {
			if m.Score(s) <= m.Score(p) {
				t.Errorf("%q scores %.2f, %q %.2f", s, m.Score(s), p, m.Score(p))
			}
		}
	}
}

func FuzzScore(f *testing.F) {
	f.Add("I never eat meat.")
	f.Add("…’' ?!")
	f.Fuzz(func(t *testing.T, said string) {
		if s := standing.Shipped().Score(said); !(s >= 0 && s <= 1) {
			t.Errorf("%q scores %v", said, s)
		}
	})
}
