package embedded_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestExtractQuotesOneFactAMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"two facts in a sentence", []string{"Ana: I live in Porto and I am allergic to peanuts."},
			[]string{"I live in Porto", "I am allergic to peanuts."}},
		{"a comma before another subject", []string{"Ana: My sister Eva moved to Leeds, I took over her flat."},
			[]string{"My sister Eva moved to Leeds", "[about: My sister Eva] I took over her flat."}},
		{"two people are one subject", []string{
			"Ana: On 24 May my sister and I hiked to the lake. Last Sunday Teo and I cooked for everybody.",
		},
			[]string{"On 24 May (2023-05-24) my sister and I hiked to the lake.",
				"Last Sunday (2023-05-21) Teo and I cooked for everybody."}},
		{"two people with a clause each", []string{
			"Ana: Marta lives in Rome with two cats and I live in Porto near the station.",
		},
			[]string{"Marta lives in Rome with two cats", "I live in Porto near the station."}},
		{"what depends stays", []string{"Ana: When I bake bread, I let the dough rest for 12 hours."},
			[]string{"When I bake bread, I let the dough rest for 12 hours."}},
		{"what is joined again reads as it was said",
			[]string{"Ana: To make coffee, I first grind the beans, then I pour the water."},
			[]string{"To make coffee, I first grind the beans, then I pour the water."}},
		{"what is reported stays with who said it", []string{"Ana: Tom told me, I am not allergic to peanuts any more."},
			[]string{"Tom told me, I am not allergic to peanuts any more."}},
		{"a quotation is not cut", []string{`Ana: The note said "rent is due, my keys are at the desk" in red letters.`},
			[]string{`The note said "rent is due, my keys are at the desk" in red letters.`}},
		{"what is quoted after a colon is not cut",
			[]string{"Ana: My boss emailed: I no longer live in Oslo, I moved to Bergen last week."},
			[]string{"My boss emailed: I no longer live in Oslo, I moved to Bergen last week (week of 2023-05-15)."}},
		{"a quotation of several sentences is one",
			[]string{`Ana: My boss wrote "I no longer live in Oslo. I moved to Bergen." in capitals.`},
			[]string{`My boss wrote "I no longer live in Oslo. I moved to Bergen." in capitals.`}},
		{"a quotation mark that is never closed joins nothing",
			[]string{`Ana: My monitor is 27" wide and very bright. I live in Porto near the station.`},
			[]string{`My monitor is 27" wide and very bright. I live in Porto near the station.`}},
		{"a short answer has its question", []string{"Assistant: Window or aisle?", "Ana: aisle please"},
			[]string{"[asked: Window or aisle?] aisle please"}},
		{"a short statement of one's own has none",
			[]string{"Assistant: You play the cello every Thursday, right?", "Ana: I bought a red kayak."},
			[]string{"I bought a red kayak."}},
		{"what is picked from a list is named",
			[]string{"Assistant: Try these:\n1. Taberna Real\n2. Casa Guedes\n3. Adega Vila", "Ana: Book the third one for us."},
			[]string{"Book the third one for us. [from the assistant's list: Adega Vila]"}},
		{"an ordinal that picks nothing", []string{"Assistant: 1. Run\n2. Swim\n3. Cycle",
			"Ana: I came second in my class, by the way."},
			[]string{"I came second in my class, by the way."}},
		{"no character is lost at a cut", []string{"Ana: I mostly write C++ and I have used Rust for a year."},
			[]string{"I mostly write C++", "I have used Rust for a year."}},
		{"a name is no sign of the future", []string{"Ana: Will moved to Lisbon in March."},
			[]string{"Will moved to Lisbon in March (2023-03)."}},
		{"what a date means is noted", []string{"Ana: The meeting with Ines is on Tuesday."},
			[]string{"The meeting with Ines is on Tuesday (2023-05-30)."}},
		{"code stays beside what is said of it", []string{
			"Ana: Our nightly job runs this script:\n```sh\ngit rebase -i\n```",
		},
			[]string{"Our nightly job runs this script: [code: git rebase -i]"}},
		{"every Japanese sentence counts", []string{"Ana: 私はポルトに住んでいます。来月リスボンに引っ越します。"},
			[]string{"私はポルトに住んでいます。", "来月 (2023-06)リスボンに引っ越します。"}},
		{"a Persian word is spelt as it was", []string{"Ana: من در پورتو زندگی می\u200cکنم."},
			[]string{"من در پورتو زندگی می\u200cکنم."}},
		{"what an assistant commits itself to",
			[]string{"Assistant: Prose is fine, then. From now on I'll answer in plain sentences. Anything else?"},
			[]string{"From now on I'll answer in plain sentences."}},
		{"an assistant's advice is dialogue", []string{"Assistant: You could live in Porto. I like its cafes."}, nil},
	} {
		if got := contents(extract(t, session(c.lines...))); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestExtractReadsWhatAGateDropped(t *testing.T) {
	in := session("Assistant: Are you still allergic to peanuts?", "Ana: yes, still")
	in.Context, in.Turns = in.Turns[:1], in.Turns[1:]
	got := extract(t, in)
	if len(got) != 1 || got[0].Content != "[asked: Are you still allergic to peanuts?] yes, still" ||
		!slices.Equal(got[0].Sources, []string{"t2"}) {
		t.Errorf("got %+v, want the question, and the answer's turn as source alone", got)
	}
}

func TestExtractSaysWhoSaidIt(t *testing.T) {
	in := session("Ana: I live in Porto.", "Ben: I live in Braga.")
	in.Turns[0].Speaker = ""
	got := extract(t, in)
	if len(got) != 2 || got[0].Speaker != "user" || got[1].Speaker != "Ben" {
		t.Errorf("got %+v", got)
	}
}

func TestExtractKeepsEverything(t *testing.T) {
	said := "Hi there! I live in Porto, my flat faces the river. Is that not lovely? I pay 900 a month and my lease ends in June."
	got := strings.Join(contents(extract(t, session("Ana: "+said))), " ")
	for _, word := range []string{"Hi", "Porto", "river", "lovely", "900", "lease", "June"} {
		if !strings.Contains(got, word) {
			t.Errorf("%q is lost in %q", word, got)
		}
	}
}

func TestExtractTakesAnything(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		said := func(what string) string { return rapid.String().Draw(r, what) }
		in := session("Ana: "+said("first"), "Assistant: "+said("second"), "Ana: "+said("third"))
		got, err := former.Extract(t.Context(), in)
		if err != nil {
			r.Fatal(err)
		}
		again, err := former.Extract(t.Context(), in)
		if err != nil || !slices.Equal(contents(got), contents(again)) {
			r.Fatalf("got %q and then %q, %v", contents(got), contents(again), err)
		}
		for _, c := range got {
			if c.Content == "" || c.Speaker == "" || len(c.Sources) == 0 {
				r.Fatalf("incomplete: %+v", c)
			}
		}
	})
}

func TestDecideReplacesOnlyWhatSurelyChanged(t *testing.T) {
	home, allergy := stored("home", "I live in Porto"), stored("allergy", "I am allergic to peanuts.")
	in := session("Ana: I moved to Lisbon.")
	ops := decide(t, judge{home.Content: {relation.Replaces: 0.9}}, in, home, allergy)
	if len(ops) != 1 || ops[0].Kind != memory.OpUpdate || !slices.Equal(ops[0].Targets, []string{"home"}) {
		t.Errorf("a sure change: got %+v", ops)
	}
	ops = decide(t, judge{home.Content: {relation.Replaces: 0.4}}, in, home, allergy)
	if len(ops) != 1 || ops[0].Kind != memory.OpAdd || !slices.Equal(ops[0].New.Links, []string{"home"}) {
		t.Errorf("an unsure one: got %+v", ops)
	}
	both := stored("both", "I live in Porto and work as a nurse.")
	ops = decide(t, judge{both.Content: {relation.Replaces: 0.9}}, in, both)
	if len(ops) != 1 || ops[0].Kind != memory.OpAdd || ops[0].Reason != embedded.ReasonPart ||
		!slices.Equal(ops[0].New.Links, []string{"both"}) {
		t.Errorf("a part: got %+v", ops)
	}
}

func TestDecideLinksWhatMayHoldSeveralFacts(t *testing.T) {
	for _, said := range []string{
		"I live in Porto, allergic to peanuts", "my meds: - metformin 500mg - lisinopril 10mg - aspirin",
		"34, vegan; wife: Eva, coeliac",
		"Ich wohne in Porto und bin Diabetiker",
	} {
		m := stored("m", said)
		ops := decide(t, judge{said: {relation.Replaces: 0.95}}, session("Ana: I moved to Lisbon."), m)
		if len(ops) != 1 || ops[0].Kind != memory.OpAdd || !slices.Equal(ops[0].New.Links, []string{"m"}) {
			t.Errorf("%q: got %+v, want both to stand, linked", said, ops)
		}
	}
	m := stored("m", "I live in Porto, Portugal")
	sure := relation.Relation{relation.Replaces: 0.95}
	if ops := decide(t, judge{m.Content: sure, "I live in Porto": sure, "Portugal": sure},
		session("Ana: I moved to Lisbon."), m); len(ops) != 1 ||
		ops[0].Kind != memory.OpUpdate {
		t.Errorf("got %+v, want one fact replaced", ops)
	}
}

func TestDecideLeavesTheRestAsItWasSaid(t *testing.T) {
	m := stored("m", "I live in Porto with my sister. I'm diabetic.")
	m.ValidFrom, m.Sources = thursday.AddDate(0, -2, 0), []string{"old"}
	m.EventTime = memory.EventTime{Time: thursday.AddDate(-3, 0, 0), Precision: memory.PrecisionMonth}
	changes := relation.Relation{relation.Replaces: 0.95}
	ops := decide(t, judge{m.Content: changes, "I live in Porto with my sister": changes},
		session("Ana: I moved to Lisbon."), m)
	if len(ops) != 2 || !ops[0].Rest || ops[0].New.Content != "I'm diabetic." ||
		!ops[0].New.ValidFrom.Equal(m.ValidFrom) ||
		!ops[0].New.EventTime.Time.IsZero() || ops[1].Kind != memory.OpAdd {
		t.Fatalf("got %+v, want the rest as it was said, and the new statement", ops)
	}
}

func TestDecideLeavesOthersWordsAlone(t *testing.T) {
	home := stored("home", "I live in Porto")
	sure := judge{home.Content: {relation.Replaces: 0.95}}
	for name, in := range map[string]formation.Session{
		"another person": session("Ben: I moved to Lisbon."), "a pasted mail": session("Ana: > I moved to Lisbon."),
	} {
		for _, op := range decide(t, sure, in, home) {
			if op.Kind != memory.OpAdd || len(op.Targets) > 0 {
				t.Errorf("%s: got %+v", name, op)
			}
		}
	}
	late := home
	late.ValidFrom = thursday.AddDate(0, 1, 0)
	if ops := decide(t, sure, session("Ana: I moved to Lisbon."), late); len(ops) != 1 || ops[0].Kind != memory.OpAdd {
		t.Errorf("a late turn: got %+v", ops)
	}
}

func TestDecideKnowsWhatWasSaid(t *testing.T) {
	home := stored("home", "I live in Porto.")
	ops := decide(t, nil, session("Ana: I live in Porto!"), home)
	if len(ops) != 1 || ops[0].Kind != memory.OpNone || !slices.Equal(ops[0].Targets, []string{"home"}) {
		t.Errorf("got %+v", ops)
	}
}

// TestAnUnsureTimeIsNotTheDayOfSaying has events whose time the words do not tell.
func TestAnUnsureTimeIsNotTheDayOfSaying(t *testing.T) {
	for said, want := range map[string]string{
		"The week after the wedding my cousin sold her car.": "", "That winter Ben broke his arm.": "",
		"In week 3 we built a parser.":               "",
		"We signed the lease the night before last.": "2023-05-23", "My uncle sold his farm two Mondays ago.": "2023-05-15",
		"My uncle sold his farm.": "2023-05-25",
	} {
		got := extract(t, session("Ana: "+said))
		day := ""
		if len(got) == 1 && !got[0].EventTime.Time.IsZero() {
			day = got[0].EventTime.Time.Format(time.DateOnly)
		}
		if len(got) != 1 || day != want {
			t.Errorf("%q: got %+v, want the day %q", said, got, want)
		}
	}
}

func TestAnEventIsOnTheDayOfItsSpeaker(t *testing.T) {
	in := session("Ana: My aunt Rosa broke her leg.")
	in.Turns[0].Time = time.Date(2026, 5, 1, 20, 30, 0, 0, time.FixedZone("", -7*60*60))
	if got := extract(t, in); len(got) != 1 || got[0].EventTime.Time.Format(time.DateOnly) != "2026-05-01" {
		t.Errorf("got %+v", got)
	}
}
