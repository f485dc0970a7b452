package embedded_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

func TestFactsAreTakenOutOfAQuotation(t *testing.T) {
	for said, c := range map[string]struct {
		gone []string
		rest string
	}{
		"I live in Porto and I am allergic to peanuts.": {[]string{"I live in Porto"},
			"I am allergic to peanuts."},
		"im an RN on 4 west, med surg, mostly nights": {[]string{"mostly nights"},
			"im an RN on 4 west, med surg"},
		"We keep bees, two goats and a mule. The mule is old.": {[]string{"two goats"},
			"We keep bees and a mule. The mule is old."},
		"We keep bees. The goats went. Eva is seven": {[]string{"The goats went"},
			"We keep bees. Eva is seven"},
		"my meds:\n- metformin 500mg\n- lisinopril 10mg\n- aspirin": {[]string{"lisinopril 10mg"},
			"my meds:\n- metformin 500mg\n- aspirin"},
		"I work as a nurse, mostly on night shifts.":     {[]string{"I work as a nurse"}, ""},
		"I work as a nurse, mostly at night, my cat too": {[]string{"I work as a nurse"}, "my cat too"},
		"I work as a nurse. Mostly at night":             {[]string{"I work as a nurse"}, "Mostly at night"},
		"my meds: aspirin":                               {[]string{"aspirin"}, ""},
		"When I can't sleep, I read a novel":             {[]string{"When I can't sleep, I read a novel"}, ""},
		"Ich wohne in Porto und bin Diabetiker":          {[]string{"Ich wohne in Porto"}, "bin Diabetiker"},
		"私はポルトに住んでいます。猫が一匹います。":                          {[]string{"私はポルトに住んでいます"}, "猫が一匹います。"},
	} {
		facts := embedded.Facts(said)
		gone := make([]float64, len(facts))
		for i, f := range facts {
			if slices.Contains(c.gone, f) {
				gone[i] = 0.9
			}
		}
		if rest, sure := embedded.Without(said, embedded.Gone(gone)); !sure || rest != c.rest {
			t.Errorf("%q: %q is left (sure: %t), want %q; the facts are %q", said, rest, sure, c.rest, facts)
		}
	}
}

func TestNothingIsTakenOutWhereItIsNotSure(t *testing.T) {
	for name, gone := range map[string][]float64{"either": {0.5, 0.4}, "all hold": {0.1, 0.01}, "too few": {0.9},
		"none": nil} {
		if rest, sure := embedded.Without("I live in Porto, I have a cat", embedded.Gone(gone)); sure || rest != "" {
			t.Errorf("%s: %q is left", name, rest)
		}
	}
}

func TestWhatIsClearlyLikelierIsTakenOut(t *testing.T) {
	for name, gone := range map[string][]float64{"likely": {0.6, 0.5}, "clearly likelier": {0.3, 0.05}} {
		if rest, sure := embedded.Without("I live in Porto, I have a cat", embedded.Gone(gone)); !sure ||
			rest != "I have a cat" {
			t.Errorf("%s: %q is left (sure: %t)", name, rest, sure)
		}
	}
}

func TestWhatIsLeftWasSaid(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		said := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"I live in Porto", "when it rains", "my list", "no cats", ", ", " and ", ". ", "\n- ", "? ", "。", "[asked: x] ", " ",
		}), 1, 12).Draw(r, "said"), "")
		facts := embedded.Facts(said)
		if len(facts) == 0 {
			return
		}
		gone := make([]float64, len(facts))
		for i := range gone {
			gone[i] = rapid.SampledFrom([]float64{0, 1}).Draw(r, "gone")
		}
		rest, sure := embedded.Without(said, embedded.Gone(gone))
		if !sure {
			return
		}
		at := 0
		for i, f := range facts {
			// these have no subject of their own
			if gone[i] == 1 && len(facts) > 1 || strings.HasPrefix(strings.TrimSpace(f), "when it") {
				continue
			}
			next := strings.Index(rest[at:], strings.TrimSpace(f))
			if next < 0 && len(facts) > 1 {
				r.Fatalf("%q is lost in %q", f, rest)
			}
			at += max(0, next)
		}
		if len(rest) > len(said) || len(facts) > 1 && slices.Min(gone) == 1 && rest != "" {
			r.Fatalf("%q is left of %q", rest, said)
		}
	})
}

// hearing is a judge that records its input when facts are divided.
type hearing struct {
	judge
	heard *[]string
}

func (h hearing) Gone(later relation.Statement, parts []string) []float64 {
	*h.heard = append(*h.heard, later.Text)
	return h.judge.Gone(later, parts)
}

func TestFactsAreDividedByWhatTheUserSaysAroundTheChangeToo(t *testing.T) {
	both := stored("both", "I live in Porto and I am allergic to peanuts.")
	var heard []string
	decide(t, hearing{judge{both.Content: {relation.Replaces: 0.9}}, &heard},
		session("Ana: I have moved to Lisbon. My allergy to peanuts has stayed.\n\n> My allergy to peanuts is gone, says the letter"), both)
	quoted := slices.ContainsFunc(heard, func(s string) bool { return strings.Contains(s, "letter") })
	if len(heard) == 0 || !strings.Contains(heard[0], "has stayed") || quoted {
		t.Errorf("heard %q, want what Ana says and nothing that she quotes", heard)
	}
}
