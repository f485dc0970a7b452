package embedded_test

import (
	"slices"
	"strings"
	"testing"
)

// TestAPronounHasItsPerson has clauses about a person that only an earlier clause or turn names.
func TestAPronounHasItsPerson(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"Ana: My uncle Piet moved in yesterday.", "Assistant: How is he?", "Ana: He is allergic to walnuts."},
			"[about: My uncle Piet] He is allergic to walnuts."},
		{[]string{"Ana: My sister Lea visited us.", "Assistant: Nice.", "Ana: She works as a nurse in Bonn.",
			"Assistant: I see.",
			"Ana: And her daughter speaks Greek."}, "[about: My sister Lea] And her daughter speaks Greek."},
		{[]string{"Ana: This is about my friend Rui, he is a welder at Lindt."},
			"This is about my friend Rui, he is a welder at Lindt."},
		{[]string{"Ana: My brother Rui moved to Porto in May and he is a welder at Lindt."},
			"[about: My brother Rui] he is a welder at Lindt."},
		{[]string{"Ana: I bought a caravan in May.", "Assistant: Wow.", "Ana: It is called Bertha."},
			"[about: a caravan] It is called Bertha."},
		{[]string{"Ana: My parents live in Cork.", "Assistant: Nice.", "Ana: They are both vets."},
			"[about: My parents] They are both vets."},
	} {
		if got := contents(extract(t, session(c.lines...))); !slices.Contains(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.lines, got, c.want)
		}
	}
	got := extract(t, session("Ana: My uncle Piet moved in.", "Ana: He is allergic to walnuts."))
	if !slices.Equal(got[len(got)-1].Sources, []string{"t2", "t1"}) {
		t.Errorf("sources are %q, want both turns", got[len(got)-1].Sources)
	}
}

// TestAnUnsureTurnHasNoNote has pronouns with no person, with two, or with a person of the other speaker.
func TestAnUnsureTurnHasNoNote(t *testing.T) {
	for _, lines := range [][]string{
		{"Ana: She is allergic to walnuts."}, {"Ana: My sister Lea met my aunt Jo.", "Ana: She is allergic to walnuts."},
		{"Ana: My brother called.", "Ana: She is allergic to walnuts."},
		{"Ben: My aunt Jo is here.", "Ana: She is allergic to walnuts."},
		{"Ana: I bought a caravan.", "Ana: It is raining in Bonn."},
		{"Ana: I bought a caravan.", "Ana: I am allergic to walnuts."},
	} {
		for _, said := range contents(extract(t, session(lines...))) {
			if strings.Contains(said, "[about") {
				t.Errorf("%q: got %q", lines, said)
			}
		}
	}
	if memories, talk := byTier(t, session("Ana: She is allergic to walnuts.")); len(memories) > 0 || len(talk) != 1 {
		t.Errorf("memories are %q and talk is %q, want talk alone", memories, talk)
	}
}

// TestAPronounStaysWithItsClause has pronouns with their person in the clause before.
func TestAPronounStaysWithItsClause(t *testing.T) {
	for said, want := range map[string]string{
		"She has a friend named Ole, they often play chess on Sundays.": "She has a friend named Ole, they often play chess on Sundays.",
		"I went to the barber and he cut my hair much too short.":       "I went to the barber and he cut my hair much too short.",
		"My physio is called Ms. Wolters and I see her on Mondays.":     "My physio is called Ms. Wolters and I see her on Mondays.",
	} {
		if got := contents(extract(t, session("Ana: "+said))); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAThingWithoutANameIsNoMemory has turns whose thing is named elsewhere, and turns that name it.
func TestAThingWithoutANameIsNoMemory(t *testing.T) {
	for said, kept := range map[string]bool{
		"I've finished it on 12 March, with Figma and two colleagues.": false,
		"They have a garden with two pear trees.":                      false,
		"It's my birthday on 3 May.":                                   true,
		"I sold the boat, because I never used it.":                    true,
	} {
		if memories, talk := byTier(t, session("Ana: "+said)); (len(memories) > 0) != kept {
			t.Errorf("%q: memories are %q, talk is %q", said, memories, talk)
		}
	}
}

func TestAClauseHasAVerb(t *testing.T) {
	for _, said := range []string{
		"Most of the time, I prefer to read on the train to Leeds.", "I study old typefaces and their use in modern print.",
	} {
		if memories, talk := byTier(t, session("Ana: "+said)); len(memories)+len(talk) != 1 {
			t.Errorf("%q: memories are %q, talk is %q, want one entry", said, memories, talk)
		}
	}
}
