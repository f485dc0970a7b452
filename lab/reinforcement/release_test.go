package reinforcement_test

import (
	"testing"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/lab/synthesis"
)

// A policy that decides as the rules do costs nothing. A policy that keeps and replaces too little lowers the
// expected measures.
func TestWhatAReleaseCosts(t *testing.T) {
	people, err := synthesis.Generate(synthesis.Options{Seed: 77, Persons: 2, Sessions: 4})
	if err != nil {
		t.Fatal(err)
	}
	var conversations []dataset.Subject
	for _, p := range people {
		conversations = append(conversations, p.Subject("acme"))
	}
	for name, tc := range map[string]struct {
		weak bool
		fall bool
	}{"as the rules": {}, "weak": {true, true}} {
		o := reinforcement.Defaults()
		o.Weak = tc.weak
		compared, err := reinforcement.CompareRelease(t.Context(), reinforcement.StartPolicy(o), conversations, 2)
		if err != nil {
			t.Fatal(err)
		}
		falls := 0
		for _, c := range compared {
			if c.Rules == 0 {
				t.Errorf("%s: %q has nothing to lose", name, c.Measure)
			}
			if !c.Met() {
				falls++
			}
		}
		if len(compared) != 4 || (falls > 0) != tc.fall {
			t.Errorf("%s: %+v", name, compared)
		}
	}
	if _, err := reinforcement.CompareRelease(t.Context(), reinforcement.StartPolicy(reinforcement.Defaults()), nil,
		1); err == nil {
		t.Error("nothing is measured without questions, and no error says so")
	}
}
