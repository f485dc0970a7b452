package constraint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/formation/constraint"
	"github.com/mneme-memory/mneme/shared/memory"
)

// told is a memory that holds, told on a day.
func told(id, content string, day int) memory.Memory {
	return memory.Memory{
		ID: id, Content: content, Speaker: "Ana", Status: memory.StatusActive, Sources: []string{"turn " + id},
		ValidFrom: time.Date(2026, 1, day, 12, 0, 0, 0, time.UTC),
	}
}

func texts(c constraint.Chosen) []string {
	var out []string
	for _, l := range c.Lines {
		out = append(out, l.Text)
	}
	return out
}

func TestWhatBindsIsTold(t *testing.T) {
	for said, want := range map[string]bool{
		"I break out in hives if I touch kiwi.":                     true,
		"My youngest can't have wheat.":                             true,
		"I use a wheelchair, so no steps please.":                   true,
		"Viktor needs a ground-floor room, he cannot climb stairs.": true,
		"I am on a low salt diet because of my heart.":              true,
		"My hairdresser's daughter has coeliac disease.":            false,
		"The sauce calls for two spoons of peanut butter.":          false,
		"I had shingles in 2018, long gone.":                        false,
		"We painted the bedroom green.":                             false,
		"What are the symptoms of lactose intolerance?":             false,
		"Моя дочь не переносит орехи, пожалуйста, всегда помни об этом": false, // it cannot read that
	} {
		if quote, score := constraint.Quote(said); (quote != "") != want {
			t.Errorf("%q binds with %.2f: %q", said, score, quote)
		}
	}
}

func TestALineIsTheSentenceThatBinds(t *testing.T) {
	for content, want := range map[string]string{
		"Thanks, that was lovely! I'm allergic to shellfish. How was your weekend?": "I'm allergic to shellfish.",
		"[asked: Anything else?] I can't have lactose.":                             "I can't have lactose.",
	} {
		if got, _ := constraint.Quote(content); got != want {
			t.Errorf("of %q it quotes %q, want %q", content, got, want)
		}
	}
	if got, _ := constraint.Quote("I'm allergic to " + strings.Repeat("peanuts and ", 200) + "nuts"); got != "" {
		t.Errorf("a line has %d bytes", len(got))
	}
}

// TestWhatOnlyPermitsIsNoLine has statements of what people can do. Such a statement hides an older limit.
func TestWhatOnlyPermitsIsNoLine(t *testing.T) {
	for said, want := range map[string]bool{
		"I can spend fifty euros a week.":            true,
		"I can eat nuts whenever I like.":            false,
		"I can swim.":                                false,
		"I can only eat soft food.":                  true,
		"I can't swim.":                              true,
		"I can eat cheese but I can't have any nuts": true,
	} {
		chosen := constraint.Choose([]memory.Memory{told("a", said, 1)}, users)
		if got := len(chosen.Lines) > 0; got != want {
			t.Errorf("%q: lines are %q", said, texts(chosen))
		}
	}
	limit, free := told("a", "I can't eat peanuts.", 1), told("b", "I can eat peanuts.", 2)
	if chosen := constraint.Choose([]memory.Memory{limit, free}, users); len(chosen.Lines) > 0 {
		t.Errorf("a limit that a newer permission lifts: lines are %q", texts(chosen))
	}
}

// A line keeps a remark in brackets whole, and a list with its sentence.
func TestALineIsNotCutInsideBrackets(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{"Ada is allergic only to tree nuts (walnuts, hazelnuts and pecans), " +
			"so a sauce with peanuts in it or a spoon of sesame on top is no problem for her at all.",
			"Ada is allergic only to tree nuts (walnuts, hazelnuts and pecans)"},
		{"Since the operation I can't eat citrus fruit (oranges, lemons, grapefruit), " +
			"and my husband does most of the cooking in our house during the week as well as on Sundays.",
			"Since the operation I can't eat citrus fruit (oranges, lemons, grapefruit)"},
	} {
		if got, _ := constraint.Quote(c.content); got != c.want {
			t.Errorf("of %q it quotes %q, want %q", c.content, got, c.want)
		}
	}
	long := "Omar is allergic to a long list of foods (peanuts, walnuts, sesame, mustard, lupin, celery, " +
		"soy, eggs, milk, wheat, rye, fish, squid)."
	if got, _ := constraint.Quote(long); strings.Count(got, "(") != strings.Count(got, ")") {
		t.Errorf("of %q it quotes %q, want no part of the brackets", long, got)
	}
}

func TestABlockHasTheNewestOfASubject(t *testing.T) {
	old, again := told("a", "I'm allergic to peanuts.", 1), told("b", "As I said, I'm allergic to peanuts.", 2)
	slotted, filled := told("c", "I'm vegetarian.", 3), told("d", "I'm vegan now, I don't eat any animal products.", 4)
	slotted.Slot, filled.Slot = "ana/diet", "ana/diet"
	doubted, linking := told("e", "I can't climb stairs.", 5), told("f", "I can't walk far, I use a wheelchair.", 6)
	linking.Links = []string{"e"}
	gone := told("g", "I'm allergic to kiwi.", 7)
	gone.Status = memory.StatusRetracted
	other := told("h", "Tom is allergic to peanuts.", 8)
	got := constraint.Choose([]memory.Memory{old, again, slotted, filled, doubted, linking, gone, other}, users)
	var ids []string
	for _, l := range got.Lines {
		ids = append(ids, l.Memories...)
	}
	slices.Sort(ids)
	if want := []string{"b", "d", "f", "h"}; !slices.Equal(ids, want) || len(got.Sources) != len(want) {
		t.Errorf("the block rests on %q of turns %q, want %q: %q", ids, got.Sources, want, texts(got))
	}
}

// statements are some that bind and some that do not.
var statements = []string{
	"I'm allergic to peanuts.", "I can't eat gluten.", "I use a wheelchair.", "My son has asthma.", "I'm vegetarian.",
	"I live in Porto.",
	"We have a newborn.", "I can't drive at night.", "I work as a nurse.", "I have epilepsy.",
	"My wife is deaf and needs captions.", "I moved to Braga.",
	"I don't drink alcohol, I'm in recovery.", "I look after my mother, who has dementia.",
	"I have type 1 diabetes and wear a pump.",
	"I'm colour blind.", "My sister got married.", "My daughter is allergic to eggs.",
	"I can't lift anything heavy since the operation.",
}

// TestNobodyElseLiftsALimit has statements of other people at the user's device.
func TestNobodyElseLiftsALimit(t *testing.T) {
	const limit = "I am allergic to nuts."
	for _, said := range []string{
		"I am her doctor: she is no longer allergic to nuts.", "I am his sister and he is not allergic to nuts any more.",
	} {
		other := told("b", said, 2)
		other.Links = []string{"a"}
		chosen := constraint.Choose([]memory.Memory{told("a", limit, 1), other}, users)
		if !slices.Contains(texts(chosen), limit) {
			t.Errorf("after %q, lines are %q", said, texts(chosen))
		}
	}
}

func bankOf(t *rapid.T) []memory.Memory {
	var out []memory.Memory
	for i, s := range rapid.SliceOfN(rapid.SampledFrom(statements), 0, 25).Draw(t, "statements") {
		m := told(fmt.Sprintf("m%02d", i), s, 1+i)
		if rapid.IntRange(0, 5).Draw(t, "closed") == 0 {
			m.Status = memory.StatusSuperseded
		}
		out = append(out, m)
	}
	return out
}

func TestABlockKeepsItsBoundsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bank := bankOf(rt)
		got := constraint.Choose(bank, users)
		words := 0
		for _, l := range got.Lines {
			words += len(strings.Fields(l.Text))
			i := slices.IndexFunc(bank, func(m memory.Memory) bool { return m.ID == l.Memories[0] })
			if i < 0 || bank[i].Status != memory.StatusActive || !strings.Contains(bank[i].Content, l.Text) {
				rt.Fatalf("%q rests on %v", l.Text, l.Memories)
			}
		}
		if words > memory.CoreWords {
			rt.Fatalf("%d words: %q", words, texts(got))
		}
		if again := constraint.Choose(rapid.Permutation(bank).Draw(rt, "order"), users); !slices.Equal(texts(again),
			texts(got)) {
			rt.Fatalf("%q in one order, %q in another", texts(got), texts(again))
		}
	})
}

// A block that nothing touches is the one that would be chosen anew.
func TestABlockThatNothingTouchesStays(t *testing.T) {
	stayed := 0
	rapid.Check(t, func(rt *rapid.T) {
		var bank []memory.Memory
		core := memory.Core{PolicyVersion: constraint.Version()}
		for _, m := range bankOf(rt) {
			m.Status = memory.StatusActive
			bank = append(bank, m)
			var closed []memory.Memory
			if i := rapid.IntRange(0, 3*len(bank)).Draw(rt, "closes"); i < len(bank) {
				closed = []memory.Memory{bank[i]}
				bank[i].Status = memory.StatusSuperseded
			}
			touched := constraint.Touches(core, []memory.Memory{bank[len(bank)-1]}, closed)
			next := constraint.Choose(bank, users).Lines
			if !touched && !slices.EqualFunc(next, core.Lines, func(a, b memory.CoreLine) bool { return a.Text == b.Text }) {
				rt.Fatalf("after %q nothing is touched, and the block goes from %v to %v", m.Content, core.Lines, next)
			}
			if !touched {
				stayed++
			}
			core.Lines, core.Version = next, core.Version+1
		}
	})
	if stayed == 0 {
		t.Error("every statement touches the block")
	}
}

func TestTalkIsNoConstraint(t *testing.T) {
	m := told("a", "I'm allergic to peanuts.", 1)
	for tier, want := range map[memory.Tier]bool{memory.TierMemory: true, memory.TierTalk: false} {
		m.Tier = tier
		all := []memory.Memory{m}
		if len(constraint.Candidates(all)) > 0 != want || constraint.Touches(memory.Core{}, all, nil) != want ||
			len(constraint.Choose(all, users).Lines) > 0 != want {
			t.Errorf("tier %q constrains, or does not", tier)
		}
	}
}

func TestAnotherPolicysBlockIsChosenAnew(t *testing.T) {
	if !constraint.Touches(memory.Core{Content: "Ana is a nurse.", Version: 3, PolicyVersion: "membuilder/1"}, nil, nil) {
		t.Error("the block of another policy stays")
	}
}

func BenchmarkChoose(b *testing.B) {
	var bank []memory.Memory
	for i := range 600 {
		bank = append(bank, told(fmt.Sprint("m", i), statements[i%len(statements)], 1))
	}
	for b.Loop() {
		constraint.Choose(bank, users)
	}
}

// users takes every clause for the user's own.
func users(memory.Memory, string) bool { return true }

// TestALineIsAClauseOfTheUsers has a memory with another person's clause next to the user's.
func TestALineIsAClauseOfTheUsers(t *testing.T) {
	const theirs, mine = "I am allergic to cats.", "I am allergic to peanuts."
	m := memory.Memory{ID: "m", Status: memory.StatusActive, Content: theirs + " " + mine}
	got := constraint.Choose([]memory.Memory{m}, func(_ memory.Memory, clause string) bool { return clause == mine })
	if len(got.Lines) != 1 || got.Lines[0].Text != mine {
		t.Errorf("got %+v", got.Lines)
	}
	if got = constraint.Choose([]memory.Memory{m}, func(memory.Memory, string) bool {
		return false
	}); len(got.Lines) != 0 {
		t.Errorf("of none of the user's: got %+v", got.Lines)
	}
}
