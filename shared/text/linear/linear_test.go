package linear_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/text/linear"
)

func TestTermsAreWordsMarksAndNeighbours(t *testing.T) {
	got := linear.Terms("I don’t eat fish, I don't!")
	want := []string{"i", "don't", "i don't", "eat", "don't eat", "fish", "eat fish", ",", "fish ,", ", i", "!", "don't !"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := linear.Terms("42 — "); len(got) != 0 {
		t.Errorf("of no words: %q", got)
	}
}

func TestWhatIsNoModelIsRefused(t *testing.T) {
	for name, data := range map[string]string{
		"no JSON": "{", "no version": `{"weights":{"a":1}}`, "no weights": `{"version":"x"}`,
	} {
		if _, err := linear.Parse([]byte(data)); !errors.Is(err, linear.ErrModel) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
