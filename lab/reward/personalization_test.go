package reward_test

import (
	"testing"

	"github.com/mneme-memory/mneme/lab/reward"
)

// Hand-made case of ten answers: three good, one basic and one bad, so five are personalized. Two leave a memory
// unused. Three have no relevant memory.
func TestRatesOfPersonalizationByHand(t *testing.T) {
	got := reward.PersonalizationCounts{
		reward.PersonalizationGood: 3, reward.PersonalizationBasic: 1, reward.PersonalizationBad: 1,
		reward.PersonalizationUnderuse: 2, reward.PersonalizationNone: 3,
	}.Rates()
	if !near(got.Personalized, 0.5) || !near(got.Good, 0.3) || !near(got.Underuse, 0.2) {
		t.Errorf("got %+v", got)
	}
	if got := (reward.PersonalizationCounts{}).Rates(); got != (reward.PersonalizationRates{}) {
		t.Errorf("of no answers: %+v", got)
	}
	for class, want := range map[reward.Personalization]bool{
		reward.PersonalizationGood: true, reward.PersonalizationBasic: true, reward.PersonalizationBad: true,
		reward.PersonalizationUnderuse: false, reward.PersonalizationNone: false,
	} {
		if class.Personalized() != want {
			t.Errorf("%s: Personalized is %t, want %t", class, !want, want)
		}
	}
}

func quality(rich, adds, fitting, relevant, sound bool) reward.PersonalizationQuality {
	return reward.PersonalizationQuality{Rich: rich, ValueAdding: adds, Fitting: fitting, Relevant: relevant, Sound: sound}
}

func TestTheClassOfAPersonalAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		quality reward.PersonalizationQuality
		want    reward.Personalization
	}{
		"everything":           {quality(true, true, true, true, true), reward.PersonalizationGood},
		"the name alone":       {quality(false, false, true, true, true), reward.PersonalizationBasic},
		"rich without value":   {quality(true, false, true, true, true), reward.PersonalizationBasic},
		"value without wealth": {quality(false, true, true, true, true), reward.PersonalizationBasic},
		"intrusive":            {quality(true, true, false, true, true), reward.PersonalizationBad},
		"beside the point":     {quality(true, true, true, false, true), reward.PersonalizationBad},
		"made up":              {quality(false, false, true, true, false), reward.PersonalizationBad},
	} {
		if got := tc.quality.Class(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
