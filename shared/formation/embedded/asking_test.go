package embedded_test

import (
	"slices"
	"testing"
)

// TestAQuestionIsTalk has questions whose mark is missing or stands in a later clause. Statements in the order of a
// question stay memories.
func TestAQuestionIsTalk(t *testing.T) {
	for said, want := range map[string][]string{
		"Is there a cheese I could try since I'm vegan and I also dislike beans?": {
			"I could try since I'm vegan"},
		"I run on Mondays. Is there a stretch I should do first so I don't hurt my knee?": {"I run on Mondays."},
		"I bought a van in May. where do i register it": {
			"I bought a van in May (2023-05).",
		},
		"My new job begins in June, what do i wear on the first day": {
			"My new job begins in June (2023-06)",
		},
		"my bike has a flat tyre. whats the best glue for a patch": {"my bike has a flat tyre."},
		"Do you remember I won the lottery and bought a house in Rome!": {
			"Do you remember I won the lottery and bought a house in Rome!"},
		"I live in Bath with my wife. Could you write a warm note to the seller so I don't have to?": {
			"I live in Bath with my wife.",
		},
		"Could you always call me Ann, I don't like my long name.": {
			"Could you always call me Ann", "I don't like my long name."},
		"My wife sails every weekend, so do I every summer.": {
			"My wife sails every weekend, so do I every summer.",
		},
		"The shop opens at ten on Sundays. So do it after noon.": {
			"The shop opens at ten on Sundays. do it after noon.",
		},
		"What does help my back is a long swim in the lake every Sunday.": {
			"What does help my back is a long swim in the lake every Sunday.",
		},
	} {
		if memories, talk := byTier(t, session("Ana: "+said)); !slices.Equal(memories, want) {
			t.Errorf("%q: memories are %q, talk is %q", said, memories, talk)
		}
	}
}

// TestATaskIsTalk has orders for one piece of work. A lasting order stays a memory.
func TestATaskIsTalk(t *testing.T) {
	for said, want := range map[string][]string{
		"I work as a baker in Leeds. Write please to the mayor a short letter about the noise.": {
			"I work as a baker in Leeds.",
		},
		"I have two cats. Give me a plan for a cheap trip to the sea in ten days.": {"I have two cats."},
		"Please always write your answers in simple words, with a summary at the end.": {
			"always write your answers in simple words, with a summary at the end."},
	} {
		if memories, talk := byTier(t, session("Ana: "+said)); !slices.Equal(memories, want) {
			t.Errorf("%q: memories are %q, talk is %q", said, memories, talk)
		}
	}
}
