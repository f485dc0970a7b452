package text_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestAsksWhen(t *testing.T) {
	for query, want := range map[string]bool{
		"When did she leave?": true, "And when was that?": true, "What year was it?": true, "How long ago?": true, "How long did it take?": true,
		"What did she do when she left?": false, "What day-care is it?": false, "": false, "long ago": false,
	} {
		if got := text.AsksWhen(text.Words(query)); got != want {
			t.Errorf("%q: %t", query, got)
		}
	}
}
