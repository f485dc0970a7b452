package reinforcement_test

import (
	"math"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
)

func TestEachRewardTrainsAPolicyThatIsTheSameAgain(t *testing.T) {
	for _, r := range reinforcement.Rewards() {
		t.Run(string(r), func(t *testing.T) {
			o := small(r)
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

func TestEstimatesHavePairedSeedsAndIntervals(t *testing.T) {
	o := reinforcement.CeilingOptions{Seeds: 2, Held: 1, Sessions: 2}
	done := atomic.Int32{}
	o.Progress = func(total int) {
		if total != 10 {
			t.Errorf("%d tries, want 10", total)
		}
		done.Add(1)
	}
	arms, err := reinforcement.Ceilings(t.Context(), o)
	if err != nil || len(arms) != 5 || done.Load() != 10 {
		t.Fatalf("%d arms, %d tries: %v", len(arms), done.Load(), err)
	}
	for i, a := range arms {
		if len(a.Measures) == 0 || len(a.Beside) != i {
			t.Errorf("%s: %+v", a.Name, a)
		}
		for _, before := range arms[:i] {
			for measure, d := range a.Beside[before.Name] {
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
	o.Seeds = 0
	if _, err := reinforcement.Ceilings(t.Context(), o); !fault.IsTerminal(err) {
		t.Errorf("no seeds: %v", err)
	}
}

func TestTheTruthIsACeiling(t *testing.T) {
	arms, err := reinforcement.Ceilings(t.Context(), reinforcement.CeilingOptions{Seeds: 1, Held: 2, Sessions: 6})
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
		shipped, relations := by["shipped models"].Measures["update_hits"+words].Mean,
			by["true relations"].Measures["update_hits"+words].Mean
		wrong, usual := by["true retractions"].Measures["wrong_updates"+words].Mean,
			by["shipped models"].Measures["wrong_updates"+words].Mean
		if wrong > usual {
			t.Errorf("wrong updates%s are %v by true retractions, %v by the shipped ones", words, wrong, usual)
		}
		if relations < shipped || relations < 0.6 {
			t.Errorf("hits%s are %v by true relations, %v by the shipped ones", words, relations, shipped)
		}
	}
}

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
