package text_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestAsksWhen(t *testing.T) {
	for query, want := range map[string]bool{
		"When did she leave?": true, "And when was that?": true, "What year was it?": true, "How long ago?": true, "How long did it take?": true,
		"Can you tell me when Ana moved to Porto?":            true,
		"Do you remember when we adopted the dog?":            true,
		"I was wondering when her exam is.":                   true,
		"Could you remind me again when the lease ends?":      true,
		"I'd like to know when the course starts":             true,
		"I met Eva at the market. When did she open the bar?": true,
		"Since when does she play the cello?":                 true,
		"When exactly did they marry?":                        true,
		"When's her birthday?":                                true,
		"What was the exact date of the wedding?":             true,
		"What's the date of her exam?":                        true,
		"What time does she get up?":                          true,
		"Which week did they travel?":                         true,
		"How many years ago did she start?":                   true,
		"She left Porto. When?":                               true,

		"What did she do when she left?": false, "What day-care is it?": false, "": false, "long ago": false,
		"When Ana was young, what did she play?":  false,
		"When she left, she cried.":               false,
		"I remember when we met, it rained.":      false,
		"Where was she when the storm came?":      false,
		"Call me when you are there.":             false,
		"It was years ago.":                       false,
		"How does she feel when she is on stage?": false,
		"What a day!":                             false,
	} {
		if got := text.AsksWhen(query, text.Words(query)); got != want {
			t.Errorf("%q: %t", query, got)
		}
	}
}
