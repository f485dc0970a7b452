package text_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestAsksWhatIs(t *testing.T) {
	for said, want := range map[string]bool{
		"Where does Ines live?": true, "What's my dog's name?": true, "Has she a car?": true, "When did Ines move?": true,
		"What could I cook on Sunday?": false, "What are some good hotels for me?": false, "Are there any hotels in Rome?": false,
		"Can she swim?": false, "Do you have ideas for dinner?": false, "Plan my weekend.": false, "": false,
	} {
		if got := text.AsksWhatIs(text.Words(said)); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}

func TestAsksOwnFact(t *testing.T) {
	for said, want := range map[string]bool{
		"Where do I live?": true, "What's my dog's name?": true, "which coffee did I like best": true, "What am I allergic to?": true,
		"What could I cook on Sunday?": false, "Where should I stay in Rome?": false, "What are some good hotels for me?": false,
		"Plan my weekend.": false, "Where does Ines live?": false, "": false, "What": false,
	} {
		if got := text.AsksOwnFact(text.Words(said)); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}
