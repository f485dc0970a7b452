package reinforcement_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
)

// small returns options of a training that takes seconds.
func small(r reinforcement.Reward) reinforcement.Options {
	o := reinforcement.Defaults()
	o.Persons, o.Sessions, o.Group, o.Weak, o.Reward, o.Rerolls = 2, 2, 4, true, r, 2
	return o
}

// A training continues from its state as JSON and ends the same.
func TestATrainingGoesOnFromWhereItWas(t *testing.T) {
	o := small(reinforcement.RewardTransition)
	var kept []byte
	whole, err := reinforcement.Train(t.Context(), o, reinforcement.Start(o), func(s reinforcement.State) (err error) {
		if s.Next == 1 {
			kept, err = json.Marshal(s)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var s reinforcement.State
	if err := json.Unmarshal(kept, &s); err != nil {
		t.Fatal(err)
	}
	resumed, err := reinforcement.Train(t.Context(), o, s, nil)
	if err != nil || !reflect.DeepEqual(resumed, whole) {
		t.Errorf("it ended otherwise: %v\n%+v\n%+v", err, resumed.Record, whole.Record)
	}
}

func TestOnlyRolesThatAreNamedLearn(t *testing.T) {
	o := small(reinforcement.RewardStages)
	o.Weak, o.Roles = false, []decision.Role{decision.Profile}
	s, err := reinforcement.Train(t.Context(), o, reinforcement.Start(o), nil)
	if err != nil || len(s.Policy.Heads) != 1 || len(s.Policy.Heads[decision.Profile].Weights) == 0 {
		t.Errorf("heads %v, %v", s.Policy.Heads, err)
	}
}

func TestAPolicyThatHasNotLearnedDoesAsTheRules(t *testing.T) {
	people, err := synthesis.Generate(synthesis.Options{Seed: 77, Persons: 1, Sessions: 3})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := reinforcement.Measure(t.Context(), decision.Rules{}, people)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := reinforcement.Measure(t.Context(), reinforcement.StartPolicy(reinforcement.Defaults()), people)
	if err != nil {
		t.Fatal(err)
	}
	rules.FormerMS, fresh.FormerMS = 0, 0
	if !reflect.DeepEqual(rules, fresh) || rules.MemoriesPerUser == 0 {
		t.Errorf("measured %+v, by the rules %+v", fresh, rules)
	}
}

func TestSettingsOfATrainingAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(*reinforcement.Options){
		"persons": func(o *reinforcement.Options) {
			o.Persons = 0
		}, "sessions": func(o *reinforcement.Options) { o.Sessions = 1000 },
		"group": func(o *reinforcement.Options) {
			o.Group = 1
		}, "tau": func(o *reinforcement.Options) { o.Transition.Tau = 2 },
		"reward": func(o *reinforcement.Options) { o.Reward = "best" },
		"roles":  func(o *reinforcement.Options) { o.Roles = []decision.Role{"cook"} },
		"rate":   func(o *reinforcement.Options) { o.Update.Adam.Rate = 0 },
		"hidden": func(o *reinforcement.Options) { o.Weak, o.Hidden = true, 4 },
		"judge":  func(o *reinforcement.Options) { o.Judge = struct{ reward.Judge }{} },
	} {
		o := reinforcement.Defaults()
		spoil(&o)
		_, err := reinforcement.Train(t.Context(), o, reinforcement.State{}, nil)
		if !fault.IsTerminal(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The threshold of the transition is the measured one. Another embedding needs a new measurement.
func TestTheThresholdOfTheTransitionIsTheOneMeasured(t *testing.T) {
	people, err := synthesis.Generate(synthesis.Options{Seed: 78, Persons: 3, Sessions: 4})
	if err != nil {
		t.Fatal(err)
	}
	tau, f1, err := reinforcement.Calibrate(t.Context(), people)
	if err != nil || tau < reinforcement.TauOfQuotations-0.1 || tau > reinforcement.TauOfQuotations+0.1 {
		t.Errorf("measured %v (F1 %.2f), %v; the default is %v", tau, f1, err, reinforcement.TauOfQuotations)
	}
}

// With the truth in place of a decision, the decision's result is right. BenchmarkASession measures the time of a
// session in a training, with all its draws: ns/session.
