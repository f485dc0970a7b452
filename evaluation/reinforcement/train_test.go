package reinforcement_test

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/reinforcement"
	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/reward"
)

// small is a training that takes seconds.
func small(r reinforcement.Reward) reinforcement.Options {
	o := reinforcement.Defaults()
	o.Persons, o.Sessions, o.Group, o.Weak, o.Reward, o.Rerolls = 2, 2, 4, true, r, 2
	return o
}

func TestEachRewardTrainsAPolicyThatIsTheSameAgain(t *testing.T) {
	for _, r := range reinforcement.Rewards() {
		t.Run(string(r), func(t *testing.T) {
			o := small(r)
			o.Contrast = r == reinforcement.RewardStages
			s, err := reinforcement.Train(t.Context(), o, reinforcement.Start(o), nil)
			if err != nil {
				t.Fatal(err)
			}
			record := s.Record
			if record.Sessions != 4 || record.Groups < 2 || len(record.Rewards) != 2 || record.Steps < 4*4 {
				t.Errorf("record %+v", record)
			}
			for _, r := range record.Rewards {
				if !(r > -1 && r <= 2) || r == 0 {
					t.Errorf("mean rewards %v", record.Rewards)
				}
			}
			if reflect.DeepEqual(s.Policy, reinforcement.StartPolicy(o)) {
				t.Error("nothing was learned")
			}
			again, err := reinforcement.Train(t.Context(), o, reinforcement.Start(o), nil)
			if err != nil || !reflect.DeepEqual(s, again) {
				t.Errorf("the same options give another policy: %v", err)
			}
			data, err := s.Policy.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if read, err := decision.Decode(data); err != nil || !reflect.DeepEqual(read, s.Policy) {
				t.Errorf("the policy is read back as another: %v", err)
			}
		})
	}
}

// What is kept of a training, as JSON, goes on to the same end.
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
		"persons": func(o *reinforcement.Options) { o.Persons = 0 }, "sessions": func(o *reinforcement.Options) { o.Sessions = 1000 },
		"group": func(o *reinforcement.Options) { o.Group = 1 }, "tau": func(o *reinforcement.Options) { o.Transition.Tau = 2 },
		"reward":      func(o *reinforcement.Options) { o.Reward = "best" },
		"roles":       func(o *reinforcement.Options) { o.Roles = []decision.Role{"cook"} },
		"lengths":     func(o *reinforcement.Options) { o.Lengths = []int{0} },
		"rate":        func(o *reinforcement.Options) { o.Update.Adam.Rate = 0 },
		"hidden":      func(o *reinforcement.Options) { o.Weak, o.Hidden = true, 4 },
		"attribution": func(o *reinforcement.Options) { o.Attribution = math.Inf(1) },
		"judge":       func(o *reinforcement.Options) { o.Judge = struct{ reward.Judge }{} },
	} {
		o := reinforcement.Defaults()
		spoil(&o)
		_, err := reinforcement.Train(t.Context(), o, reinforcement.State{}, nil)
		if !fault.IsTerminal(err) || !strings.Contains(err.Error(), name) {
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
	tau, f1, err := reinforcement.Calibrate(t.Context(), people)
	if err != nil || tau < reinforcement.TauOfQuotations-0.1 || tau > reinforcement.TauOfQuotations+0.1 {
		t.Errorf("measured %v (F1 %.2f), %v; the default is %v", tau, f1, err, reinforcement.TauOfQuotations)
	}
}

func TestExperimentsHavePairedSeedsAndIntervals(t *testing.T) {
	o := reinforcement.ExperimentDefaults().Quick()
	o.Seeds, o.Held, o.Continuations, o.Long = 2, 1, 1, 2
	o.Options.Persons, o.Options.Sessions, o.Options.Group = 1, 2, 2
	for name, e := range map[string]struct {
		run  func(context.Context, reinforcement.ExperimentOptions) (reinforcement.Experiment, error)
		arms int
	}{
		"deltamem": {reinforcement.DeltaMem, 8}, "membuilder": {reinforcement.MemBuilder, 8}, "salimory": {reinforcement.SaliMory, 5},
		"memory-r2": {reinforcement.MemoryR2, 9},
	} {
		t.Run(name, func(t *testing.T) {
			tries, done := 0, 0
			var mu sync.Mutex
			o := o
			o.Total = func(n int) { tries += n }
			o.Progress = func() { mu.Lock(); done++; mu.Unlock() }
			x, err := e.run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if x.Paper != name || x.Claim == "" || len(x.Arms) != e.arms || tries != done || tries == 0 {
				t.Fatalf("%d arms of %+v, %d tries of %d", len(x.Arms), x, done, tries)
			}
			for i, a := range x.Arms {
				if a.Seeds != 2 || len(a.Measures) == 0 {
					t.Errorf("%s: %+v", a.Name, a)
				}
				for _, before := range x.Arms[:i] {
					beside, ok := a.Beside[before.Name]
					if ok != (before.Start == a.Start) {
						t.Errorf("%s (%s) beside %s (%s): %v", a.Name, a.Start, before.Name, before.Start, beside)
					}
					for measure, d := range beside {
						if math.Abs(a.Measures[measure].Mean-before.Measures[measure].Mean-d.Mean) > 1e-9 || math.IsNaN(d.Half) {
							t.Errorf("%s of %s beside %s: %+v", measure, a.Name, before.Name, d)
						}
					}
				}
				for measure, m := range a.Measures {
					if math.IsNaN(m.Mean) || !(m.Half >= 0) {
						t.Errorf("%s: %s is %+v", a.Name, measure, m)
					}
				}
			}
			last := x.Arms[len(x.Arms)-1]
			if last.Name != "untrained" || last.Start != reinforcement.StartWeak || last.Curve != nil {
				t.Errorf("last is %+v", last)
			}
		})
	}
	o.Seeds = 0
	if _, err := reinforcement.Ceilings(t.Context(), o); !fault.IsTerminal(err) {
		t.Errorf("no seeds: %v", err)
	}
}

// With the truth in place of a decision, what that decides is right.
func TestTheTruthIsACeiling(t *testing.T) {
	o := reinforcement.ExperimentDefaults().Quick()
	o.Seeds = 1
	arms, err := reinforcement.Ceilings(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]reinforcement.Arm{}
	for _, a := range arms {
		by[a.Name] = a
	}
	for _, words := range []string{"/train", "/heldout"} {
		if k := by["true filter"].Measures["kappa"+words].Mean; k < 0.999 {
			t.Errorf("kappa%s of the true filter is %v", words, k)
		}
		shipped, relations := by["shipped models"].Measures["update_hits"+words].Mean, by["true relations"].Measures["update_hits"+words].Mean
		wrong, usual := by["true retractions"].Measures["wrong_updates"+words].Mean, by["shipped models"].Measures["wrong_updates"+words].Mean
		if wrong > usual {
			t.Errorf("wrong updates%s are %v by true retractions, %v by the shipped ones", words, wrong, usual)
		}
		if relations < shipped || relations < 0.6 {
			t.Errorf("hits%s are %v by true relations, %v by the shipped ones", words, relations, shipped)
		}
	}
}

// BenchmarkASession is what a session takes in a training, draws and all: ns/session.
func BenchmarkASession(b *testing.B) {
	steps := 0
	for range b.N {
		o := reinforcement.Defaults()
		o.Persons, o.Sessions = 1, 6
		s, err := reinforcement.Train(b.Context(), o, reinforcement.Start(o), nil)
		if err != nil {
			b.Fatal(err)
		}
		steps += s.Record.Steps
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(steps), "ms/session")
}
