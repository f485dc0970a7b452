package text_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestWhatIsAboutAnother(t *testing.T) {
	for _, c := range []struct {
		said, older string
		want        bool
	}{
		{"Tokyo is great now.", "I live in Porto.", true},
		{"My brother lives in Berlin now.", "I live in Porto.", true},
		{"My older brother lives in Berlin now.", "I live in Porto.", true},
		{"Anna works as a plumber now.", "I work as a nurse.", true},
		{"You live in Youville now.", "I live in Porto.", true},
		{"Her phone number is 555 now.", "My phone number is 444 and I share it.", false},
		{"The office is in Lisbon now.", "I live in Porto.", true},
		{"The appointment is on Friday now.", "I have an appointment on Monday.", false},
		{"My dog weighs 12 kg now.", "I have a dog that weighs 10 kg.", false},
		{"My dog weighs 12 kg now.", "I weigh 80 kg.", true},
		{"My new job is in Lisbon.", "I work in Porto.", false},
		{"My brother and I live in Berlin now.", "I live in Porto.", false},
		{"I live in Berlin now.", "I live in Porto.", false},
		{"Moved to Berlin last week.", "I live in Porto.", false},
		{"It is on Friday now.", "I have a meeting on Monday.", false},
		{"My brother lives in Berlin now.", "My brother lives in Oslo.", false},
		{"Vivo en Lisboa ahora.", "Vivo en Porto.", false},
	} {
		if got := text.IsAboutAnother(c.said, c.older); got != c.want {
			t.Errorf("%q after %q: got %v", c.said, c.older, got)
		}
	}
}
