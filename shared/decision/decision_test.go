package decision_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
)

// options of the filter: the rules keep nothing, and the first feature favours the second option.
func options() []decision.Option {
	keep := make([]float64, len(decision.Features(decision.Filter)))
	keep[0] = 1
	return []decision.Option{{Features: make([]float64, len(keep))}, {Features: keep, Base: -1}}
}

func policy() *decision.Policy {
	h := decision.NewHead(len(decision.Features(decision.Filter)), 0, nil)
	h.Weights[0] = 3
	return &decision.Policy{Version: "test-1", Heads: map[decision.Role]decision.Head{decision.Filter: h}}
}

func TestAPolicyMovesWhatTheRulesSay(t *testing.T) {
	if got := (decision.Rules{}).Choose(decision.Filter, options()); got != 0 {
		t.Errorf("the rules take %d", got)
	}
	p := policy()
	if got := p.Choose(decision.Filter, options()); got != 1 {
		t.Errorf("the policy takes %d", got)
	}
	if got := p.Choose(decision.Change, options()); got != 0 {
		t.Errorf("of a role that it has no head for it takes %d", got)
	}
	fresh := policy()
	clear(fresh.Heads[decision.Filter].Weights)
	if got := fresh.Choose(decision.Filter, options()); got != 0 {
		t.Errorf("a head that has not learned takes %d", got)
	}
}

// A file from a program with fewer roles is readable. Rules decides the roles without a head.
func TestAPolicyOfFewerRolesLeavesTheOthersToTheRules(t *testing.T) {
	data, err := policy().Encode()
	if err != nil {
		t.Fatal(err)
	}
	p, err := decision.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range decision.Roles() {
		for _, base := range []float64{-0.1, 0.1} {
			got := decision.Either(p, r, base, func() []float64 { return options()[1].Features })
			if want := base > 0 || r == decision.Filter; got != want {
				t.Errorf("%s with log-odds %v: %t", r, base, got)
			}
		}
	}
}

func TestTheRulesTakeAThresholdForAbove(t *testing.T) {
	for p, want := range map[float64]bool{0.6999: false, 0.7: true, 0.7001: true, 0: false, 1: true} {
		read := func() []float64 { t.Error("the rules read features"); return nil }
		if got := decision.Either(decision.Rules{}, decision.Join, decision.Above(p, 0.7), read); got != want {
			t.Errorf("%v: %t", p, got)
		}
	}
}

func TestPolicyFilesAreReadBack(t *testing.T) {
	data, err := policy().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decision.Decode(data); err != nil || !reflect.DeepEqual(got, policy()) {
		t.Errorf("read %+v, %v", got, err)
	}
	for name, tc := range map[string]struct{ old, now, field string }{
		"no JSON":        {`{`, `[`, "policy"},
		"a field more":   {`"format"`, `"colour":1,"format"`, "policy"},
		"another format": {`"format": 1`, `"format": 2`, "policy.format"},
		"a file more":    {"}\n}\n", "}\n}\n{}", "policy"},
		"no version":     {`"test-1"`, `""`, "policy.version"},
		"another role":   {`"filter": {`, `"booster": {`, "policy.roles"},
		"other features": {`"question"`, `"colour"`, "policy.roles.filter.features"},
		"other weights":  {`"hidden": 0`, `"hidden": 2`, "policy.roles.filter.head"},
	} {
		broken := strings.Replace(string(data)+"\n", tc.old, tc.now, 1)
		if broken == string(data)+"\n" {
			t.Fatalf("%s: nothing was broken", name)
		}
		if _, err := decision.Decode([]byte(broken)); !fault.IsTerminal(err) || !strings.Contains(err.Error(), tc.field) {
			t.Errorf("%s: %v, want an error that names %s", name, err, tc.field)
		}
	}
}

func FuzzPolicyFiles(f *testing.F) {
	data, err := policy().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decision.Decode(data)
		if err != nil {
			return
		}
		again, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if q, err := decision.Decode(again); err != nil || !reflect.DeepEqual(p, q) {
			t.Fatalf("%s is read back as %+v, %v", bytes.TrimSpace(again), q, err)
		}
	})
}

func TestASamplerNotesWhatItDraws(t *testing.T) {
	draw := func() (taken []int, noted []decision.Choice) {
		s := decision.NewSampler(policy(), rand.New(rand.NewPCG(1, 2)))
		for range 200 {
			taken = append(taken, s.Choose(decision.Filter, options()))
			s.Choose(decision.Change, options())
		}
		all := s.Taken()
		if len(all) != 1 || len(s.Taken()) != 0 {
			t.Errorf("noted %d roles, want that which draws", len(all))
		}
		return taken, all[decision.Filter]
	}
	taken, noted := draw()
	kept := 0
	for i, c := range noted {
		if c.Chosen != taken[i] || c.LogProbability >= 0 {
			t.Fatalf("draw %d was %d and is noted as %+v", i, taken[i], c)
		}
		kept += c.Chosen
	}
	if len(noted) != 200 || kept < 150 || kept > 195 { // log-odds of 2: 88 in a hundred
		t.Errorf("%d of %d draws keep", kept, len(noted))
	}
	if again, _ := draw(); !reflect.DeepEqual(taken, again) {
		t.Error("the same seed draws otherwise")
	}
}
