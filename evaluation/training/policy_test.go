package training_test

import (
	"reflect"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/evaluation/training"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
)

func TestAPolicyIsTrainedByWhatItsDecisionsLeadTo(t *testing.T) {
	o := training.PolicyDefaults()
	o.Persons, o.Sessions, o.Group, o.Weak = 2, 3, 4, true
	policy, record, err := training.Policy(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if record.Sessions != 6 || record.Groups != 6 || len(record.Rewards) != 2 || record.SameReward > 0.5 {
		t.Errorf("record %+v", record)
	}
	for _, r := range record.Rewards {
		if !(r > 0.2 && r <= 1) {
			t.Errorf("mean rewards %v", record.Rewards)
		}
	}
	start := training.StartPolicy(o)
	for _, r := range decision.Roles() {
		if reflect.DeepEqual(policy.Heads[r].Weights, start.Heads[r].Weights) {
			t.Errorf("nothing was learned for %s", r)
		}
	}
	again, _, err := training.Policy(t.Context(), o)
	if err != nil || !reflect.DeepEqual(policy, again) {
		t.Errorf("the same options give another policy: %v", err)
	}
	data, err := policy.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if read, err := decision.Decode(data); err != nil || !reflect.DeepEqual(read, policy) {
		t.Errorf("the policy is read back as another: %v", err)
	}
}

func TestAPolicyThatHasNotLearnedDoesAsTheRules(t *testing.T) {
	people, err := synthesis.Generate(synthesis.Options{Seed: 77, Persons: 1, Sessions: 3})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := training.MeasurePolicy(t.Context(), decision.Rules{}, people)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := training.MeasurePolicy(t.Context(), training.StartPolicy(training.PolicyDefaults()), people)
	if err != nil {
		t.Fatal(err)
	}
	rules.FormerMS, fresh.FormerMS = 0, 0
	if !reflect.DeepEqual(rules, fresh) || rules.MemoriesPerUser == 0 {
		t.Errorf("measured %+v, by the rules %+v", fresh, rules)
	}
}

func TestSettingsOfATrainingAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(*training.PolicyOptions){
		"persons": func(o *training.PolicyOptions) { o.Persons = 0 }, "sessions": func(o *training.PolicyOptions) { o.Sessions = 1000 },
		"group": func(o *training.PolicyOptions) { o.Group = 1 }, "tau": func(o *training.PolicyOptions) { o.Reward.Tau = 2 },
		"rate": func(o *training.PolicyOptions) { o.Update.Adam.Rate = 0 },
	} {
		o := training.PolicyDefaults()
		spoil(&o)
		if _, _, err := training.Policy(t.Context(), o); !fault.IsTerminal(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The similarity from which a quotation counts as a statement is one that was measured, and has to be measured again with another
// embedding.
func TestTheThresholdOfTheTransitionIsTheOneMeasured(t *testing.T) {
	people, err := synthesis.Generate(synthesis.Options{Seed: 78, Persons: 3, Sessions: 4})
	if err != nil {
		t.Fatal(err)
	}
	tau, f1, err := training.Calibrate(t.Context(), people)
	if err != nil || tau < training.TauOfQuotations-0.1 || tau > training.TauOfQuotations+0.1 {
		t.Errorf("measured %v (F1 %.2f), %v; the default is %v", tau, f1, err, training.TauOfQuotations)
	}
}

func TestAnExperimentHasPairedSeedsAndIntervals(t *testing.T) {
	o := training.ExperimentDefaults()
	o.Seeds, o.Held, o.Policy.Persons, o.Policy.Sessions, o.Policy.Group = 2, 1, 1, 2, 2
	arms, err := training.DeltaMem(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(arms) != 5 || arms[0].Name != "transition" || arms[0].Beside != nil || arms[len(arms)-1].Name != "start" {
		t.Fatalf("arms %+v", arms)
	}
	for _, a := range arms {
		kept, ok := a.Measures["kept_evidence/train"]
		if !ok || a.Seeds != 2 || kept.Half < 0 || kept.Mean < 0 || kept.Mean > 1 {
			t.Errorf("%s: %+v", a.Name, a)
		}
		if _, trained := a.Measures["same_reward"]; trained != (a.Name != "start") {
			t.Errorf("%s: %+v", a.Name, a.Measures)
		}
	}
	o.Seeds = 0
	if _, err := training.DeltaMem(t.Context(), o); !fault.IsTerminal(err) {
		t.Errorf("no seeds: %v", err)
	}
}
