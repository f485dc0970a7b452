package embedded_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
)

// TestAnAnswerAboutTheSpeakerIsAMemory has short answers. The question behind them decides.
func TestAnAnswerAboutTheSpeakerIsAMemory(t *testing.T) {
	for _, c := range [][2]string{
		{"Are you left-handed?", "Yes"}, {"How many brothers do you have?", "Four"}, {"Do you take insulin?", "No."},
		{"What is your sister called?", "Ines"}, {"Where do you work?", "At the harbour"},
		{"Thanks. Do you eat pork?", "never"},
		{"You are a vegetarian, aren't you?", "yes"},
	} {
		memories, talk := byTier(t, session("Assistant: "+c[0], "Ana: "+c[1]))
		if want := "[asked: " + strings.TrimPrefix(c[0], "Thanks. ") + "] " + c[1]; !slices.Equal(memories, []string{want}) {
			t.Errorf("%q: memories are %q and talk is %q, want %q", c, memories, talk, want)
		}
	}
}

// TestAnAnswerAboutATaskIsTalk has the same answers to questions about the work at hand.
func TestAnAnswerAboutATaskIsTalk(t *testing.T) {
	for _, c := range [][2]string{
		{"Shall I make it longer?", "Yes"}, {"Would you like me to add a table?", "No."}, {"Anything else?", "No"},
		{"Does that work?", "yes"},
		{"Which file should I open?", "The second"}, {"How long should it be?", "200 words"},
		{"Do you want a longer version?", "Yes"},
		{"Are you left-handed?", "I don't know"}, {"Soll ich es kürzen?", "Ja"},
		{"What are you cooking tonight?", "Lasagne."},
		{"Are you at home?", "Yes."},
	} {
		if memories, _ := byTier(t, session("Assistant: "+c[0], "Ana: "+c[1])); len(memories) > 0 {
			t.Errorf("%q: memories are %q", c, memories)
		}
	}
}

// TestOnlyAnAnswerHasTheQuestion has replies that answer nothing.
func TestOnlyAnAnswerHasTheQuestion(t *testing.T) {
	for _, c := range [][2]string{
		{"You are probably a pilot, aren't you?", "Just write me a song."},
		{"Since you have asthma, shall I plan an easy walk?", "Make it harder please."},
		{"Is your dentist still Dr. Moll?", "Next one."}, {"Do you live in Ulm?", "Why do you ask?"},
		{"Do you live in Ulm?", "Thanks!"},
	} {
		memories, talk := byTier(t, session("Assistant: "+c[0], "Ana: "+c[1]))
		if all := slices.Concat(memories, talk); len(memories) > 0 || len(all) > 1 || len(all) == 1 && all[0] != c[1] {
			t.Errorf("%q: memories are %q and talk is %q", c, memories, talk)
		}
	}
	in := session("Assistant: Do you smoke?", "Ana: No.")
	if got := extract(t, in); len(got) != 1 || got[0].Content != "[asked: Do you smoke?] No." ||
		!slices.Equal(got[0].Sources, []string{"t2", "t1"}) {
		t.Errorf("got %+v", got)
	}
}

// TestAnswersOfOneTimeHaveTheirOwnQuestions has turns with one time, in order of arrival. A gate dropped the questions.
func TestAnswersOfOneTimeHaveTheirOwnQuestions(t *testing.T) {
	in := session("Assistant: What is your cat called?", "Ana: Momo.", "Assistant: Which street?", "Ana: Kirchgasse.",
		"Assistant: Do you smoke?", "Ana: No.")
	var answers []memory.Turn
	for i := range in.Turns {
		in.Turns[i].Time, in.Turns[i].Place = thursday, i+1
		if i%2 == 0 {
			in.Context = append(in.Context, in.Turns[i])
		} else {
			answers = append(answers, in.Turns[i])
		}
	}
	in.Turns = answers
	want := []string{"[asked: What is your cat called?] Momo.", "[asked: Which street?] Kirchgasse.",
		"[asked: Do you smoke?] No."}
	if got := contents(extract(t, in)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
