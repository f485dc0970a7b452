package relation_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/relation"
)

func TestCorrectsFindsMessagesThatCorrect(t *testing.T) {
	for said, want := range map[string]bool{
		"Sorry, I meant the tram, not the bus.":                true,
		"Correction: the guest code is 4401":                   true,
		"You’ve got my birthday wrong, it is the ninth":        true,
		"I told you Ida is nine, but she is actually ten":      true,
		"Just kidding, we don't own a boat.":                   true,
		"Ich habe mich vertan, meine Tochter ist acht":         true,
		"Me equivoqué, el tren sale a las nueve":               true,
		"Je me suis trompé, c'est mardi":                       true,
		"Я ошиблась, встреча в среду":                          true,
		"間違えました。会議は火曜日です。":                                     true,
		"that table is not what I meant":                       false,
		"We sold the car. Just kidding!":                       false,
		"I said happy birthday, and she laughed":               false,
		"scratch that last sentence, send a message to Bill":   false,
		"My answer was wrong, the teacher told me":             false,
		"I actually like the blue one":                         false,
		"Ich habe gemeint, was ich gesagt habe, und es stimmt": false,
	} {
		if got := relation.Corrects(said); got != want {
			t.Errorf("%q: %t, want %t", said, got, want)
		}
	}
}

func TestTakesBackNeedsAllWordsOfTheMessageInTheStatement(t *testing.T) {
	for _, c := range []struct {
		message, stored string
		want            bool
	}{
		{"I was joking about the nut allergy.", "I'm allergic to nuts.", true},
		{"Haha, I made it up about playing the harp", "I play the harp in an orchestra.", true},
		{"I was joking about my cat being fat.", "I'm allergic to cats.", false},
		{"My brother was joking about the nut allergy he says he has.", "I'm allergic to nuts.", false},
		{"I was joking about that.", "I'm allergic to nuts.", false},
	} {
		if got := relation.TakesBack(c.message, c.stored); got != c.want {
			t.Errorf("%q after %q: %t, want %t", c.message, c.stored, got, c.want)
		}
	}
}
