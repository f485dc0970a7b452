package text_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestWhatNeedsItsQuestion(t *testing.T) {
	for _, c := range []struct {
		question, reply string
		want            bool
	}{
		{"Do you drive?", "Yes", true}, {"Do you drive?", "Only in summer.", true}, {"Do you drive?", "not any more", true},
		{"Where do your parents live?", "Near Turin", true}, {"Which seat?", "The window one please", true},
		{"What do you do on Sundays?", "Make pancakes", true}, {"When do you leave?", "Next week.", true},
		{"How old are you?", "41", true},
		{"Hast du Kinder?", "Ja, zwei", true}, {"Tu fumes ?", "jamais", true}, {"Do you drive?", "No, write me a poem", true},
		{"You are a teacher, right?", "Just write the letter.", false},
		{"Are you a nurse?", "Please make it shorter.", false},
		{"Is your wife called Ina?", "Next topic please.", false}, {"Do you drive?", "What do you mean?", false},
		{"Do you drive?", "Thanks, cool!", false}, {"Do you drive?", "ok", false},
		{"Hast du Kinder?", "Schreib mir ein Gedicht.", false},
		{"Do you drive?", "", false}, {"Do you drive?", "I used to, but my eyes are too bad for that now.", false},
	} {
		if got := text.NeedsQuestion(c.question, c.reply); got != c.want {
			t.Errorf("%q behind %q: got %v", c.reply, c.question, got)
		}
	}
}

func TestEvasions(t *testing.T) {
	for reply, want := range map[string]bool{
		"I don't know": true, "not sure": true, "rather not say": true, "No": false, "no, just a cat": false, "I know": false,
	} {
		if got := text.Evades(reply); got != want {
			t.Errorf("%q: got %v", reply, got)
		}
	}
}
