package embedded_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/memory"
)

// reading is the former with the reader of the program.
var reading = embedded.NewFormer(embedded.IdentityOf("salimory"))

// byTier are the contents of the candidates of a session, as memories and as talk.
func byTier(t *testing.T, in formation.Session) (memories, talk []string) {
	t.Helper()
	out, err := reading.Extract(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range out {
		if c.Tier == memory.TierTalk {
			talk = append(talk, c.Content)
		} else {
			memories = append(memories, c.Content)
		}
	}
	return memories, talk
}

// TestThinNotesAreTalk has statements that point at a thing of the talk, and answers that are polite alone. The others
// are about a named thing, or have a reason, a time or a name.
func TestThinNotesAreTalk(t *testing.T) {
	for said, isMemory := range map[string]bool{
		"I struggle to stick with it consistently.": false, "I'll definitely look into some associations.": false,
		"I'm particularly interested in the card system.": false, "I've only completed 40% of it by March 15.": false,
		"Gives me a visual of my progress and keeps me organized.": false,
		"I'm hosting twelve people this Thanksgiving.":             true, "I like it in Graz, so I moved here.": true,
		"I need to get back to 70 kg.": true, "We have to head back to Brazil in May because our visa ends.": true,
		"I hope that by 2030 I own a house.": true,
	} {
		memories, talk := byTier(t, session("Ana: "+said))
		if got := len(memories) > 0; got != isMemory {
			t.Errorf("%q: memories %q, talk %q", said, memories, talk)
		}
	}
}

func TestARequestIsTalkAndTheFactBesideItAMemory(t *testing.T) {
	memories, talk := byTier(t, session("Ana: I'm allergic to peanuts.",
		"Ana: Can you write a short poem about the sea for me?"))
	if !slices.Equal(memories, []string{"I'm allergic to peanuts."}) {
		t.Errorf("memories are %q", memories)
	}
	if len(talk) != 1 || !strings.Contains(talk[0], "poem") {
		t.Errorf("talk is %q", talk)
	}
}

func TestTwoFactsOfASentenceAreTwoMemories(t *testing.T) {
	memories, _ := byTier(t, session("Ana: I live in Porto and I am allergic to peanuts."))
	if !slices.Equal(memories, []string{"I live in Porto", "I am allergic to peanuts."}) {
		t.Errorf("memories are %q", memories)
	}
}

// TestOthersWordsKeepTheirLead has statements of other people. Without their lead they would be the speaker's.
func TestOthersWordsKeepTheirLead(t *testing.T) {
	for _, said := range []string{
		"My boss emailed: I no longer live in Oslo, I moved to Bergen last week.",
		`My boss wrote "I no longer live in Oslo. I moved to Bergen." in capitals.`,
		"According to HR I no longer work at Siemens",
		"> I no longer live in Oslo, I moved to Bergen.",
		"Tom: I no longer live in Oslo, I moved to Bergen.",
	} {
		memories, talk := byTier(t, session("Ana: "+said))
		for _, m := range slices.Concat(memories, talk) {
			if strings.HasPrefix(m, "I no longer") || strings.HasPrefix(m, "I moved") {
				t.Errorf("%q becomes %q and %q", said, memories, talk)
			}
		}
	}
}

func TestWhatEndsAMemoryIsAMemory(t *testing.T) {
	in, known := session("Ana: no more Volvo for me"), stored("volvo", "I drive a Volvo.")
	known.Speaker = "Ana"
	c := formation.Candidate{Content: "no more Volvo for me", Speaker: "Ana", Kind: memory.KindFact,
		Sources: []string{"t1"}, Tier: memory.TierTalk}
	v, err := embedded.NewFormerWith(embedded.IdentityOf("salimory"), changer("no more"), 0.6, 0.3).Decide(t.Context(),
		formation.Bundle{
			Session: in, Related: []formation.Related{{Candidate: c, Memories: []memory.Memory{known}}},
		})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Operations) != 1 || !slices.Equal(v.Operations[0].Targets, []string{"volvo"}) ||
		v.Operations[0].New.Tier != memory.TierMemory {
		t.Errorf("got %+v", v.Operations)
	}
}

// TestANoteEndsBeforeTheQuestion has statements with a question or a list behind them.
func TestANoteEndsBeforeTheQuestion(t *testing.T) {
	for said, want := range map[string]string{
		"I moved to Lisbon in May, can I get by on 1,200 euros a month?":     "I moved to Lisbon in May (2023-05)",
		"I'm allergic to nuts, so what can I bake, a cake, cookies, or pie?": "I'm allergic to nuts",
		"I prefer Word over Google Docs, can you help me with that?":         "I prefer Word over Google Docs",
		"It's not true that I live in Oslo with my parents.":                 "It's not true that I live in Oslo with my parents.",
		"I'm allergic to peanuts. Haha and the car? Sold!":                   "I'm allergic to peanuts.",
		"I work as a nurse.\n~~~\nI am allergic to peanuts.\n~~~\nSee you!":  "I work as a nurse.",
	} {
		memories, talk := byTier(t, session("Ana: "+said))
		if len(memories) == 0 || memories[0] != want || len(memories) > 1 && strings.Contains(memories[1], "peanuts") {
			t.Errorf("%q: memories are %q and talk is %q", said, memories, talk)
		}
	}
}

// TestNothingOfATurnIsLost has turns of which the reader marks a part. All other words are talk, except the words that
// join a note to the text before it.
func TestNothingOfATurnIsLost(t *testing.T) {
	for _, said := range []string{
		"I'm allergic to peanuts. Guess who quit Siemens? Me.", "I moved to Lisbon in May. So, the Rome trip is off.",
		"I live in Porto and I am allergic to peanuts. What a day, the bus never came and I walked home in the rain!",
	} {
		memories, talk := byTier(t, session("Ana: "+said))
		all := strings.Join(slices.Concat(memories, talk), " ")
		for _, word := range strings.Fields(said) {
			if word = strings.Trim(word, ".,!?"); !strings.Contains(all, word) && word != "and" && word != "So" {
				t.Errorf("%q loses %q: memories are %q and talk is %q", said, word, memories, talk)
			}
		}
	}
}

// TestWhoGoesOnIsReadAlone has people who state one thing a turn. The turn before is no context for them.
func TestWhoGoesOnIsReadAlone(t *testing.T) {
	said := []string{
		"Ana: I am allergic to peanuts and I live in Porto.", "Ana: My sister Eva plays the cello in an orchestra.",
		"Ana: We have a piano.",
	}
	memories, talk := byTier(t, session(said...))
	if len(talk) > 0 || len(memories) != len(said)+1 {
		t.Errorf("memories are %q, talk is %q", memories, talk)
	}
}

// TestANoteHasWholePhrases has turns in which the reader marks a greeting, or a part of a phrase.
func TestANoteHasWholePhrases(t *testing.T) {
	for said, want := range map[string]string{
		"Hi there! I have been working as a nurse in Leeds for 15 years now.":          "I have been working as a nurse in Leeds for 15 years now.",
		"Good to know. Oh, and I tend to avoid places that are hard to reach by bus.":  "I tend to avoid places that are hard to reach by bus.",
		"With the rising prices of flour, it gets harder for a bakery to price bread.": "With the rising prices of flour, it gets harder for a bakery to price bread.",
	} {
		if memories, _ := byTier(t, session("Ana: "+said)); !slices.Equal(memories, []string{want}) {
			t.Errorf("%q: memories are %q, want %q", said, memories, want)
		}
	}
}

// TestAPlanWithADayIsAnEvent has plans. One without a day is a fact about the speaker.
func TestAPlanWithADayIsAnEvent(t *testing.T) {
	for said, want := range map[string]memory.Kind{
		"I'm looking to upgrade the oven of my bakery.":        memory.KindFact,
		"I'm going to run the marathon in Porto next October.": memory.KindEpisodic,
	} {
		out, err := reading.Extract(t.Context(), session("Ana: "+said))
		if err != nil || len(out) != 1 || out[0].Kind != want {
			t.Errorf("%q: %+v, %v, want the kind %s", said, out, err, want)
		}
	}
}

// TestANoteKeepsTheNameThatItPointsTo has a note whose first words describe the name before it.
func TestANoteKeepsTheNameThatItPointsTo(t *testing.T) {
	said := "Please find me a cake. Oh, and Bruno, that's my brother, hates anything with mushrooms."
	want := "Bruno, that's my brother, hates anything with mushrooms."
	if memories, talk := byTier(t, session("Ana: "+said)); !slices.Equal(memories, []string{want}) {
		t.Errorf("memories are %q, talk is %q", memories, talk)
	}
}

// TestJoinedWordsShowAGap has a question between two notes, of which the second leans on the first.
func TestJoinedWordsShowAGap(t *testing.T) {
	said := "my parents arrive on 4 June and stay two weeks, what do i cook for them, they want to try the food here"
	want := "my parents arrive on 4 June (2023-06-04) and stay two weeks… they want to try the food here"
	if memories, talk := byTier(t, session("Ana: "+said)); !slices.Equal(memories, []string{want}) {
		t.Errorf("memories are %q, talk is %q", memories, talk)
	}
}
