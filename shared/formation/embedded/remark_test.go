package embedded_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/memory"
)

// A greeting makes no entry, and a liking for a thing of the conversation makes no memory.
func TestSmallTalkIsNoMemory(t *testing.T) {
	f := embedded.NewFormer(embedded.Identity{Strategy: "salimory", PolicyVersion: "test"})
	for said, want := range map[string]string{ // the tier of the entry with the words, or none
		"Good afternoon Thorvald Brekke.": "none", "Nice to meet you, Ines!": "none", "Guten Morgen Frau Wagner.": "none",
		"Buenos días, Marta.": "none", "Hello there!": "none", "Good evening, dear helpful friend!": "none",
		"Good morning, nurse from Leeds here.":               "memory",
		"I prefer the red icon over there, make it smaller.": "talk", "I like that one more than the first.": "talk",
		"I love your shorter version of the poem.": "talk",
		"I prefer tea with milk in the morning.":   "memory", "I love hiking in the Harz every autumn.": "memory",
		"Hello, I moved to Narva in May.": "memory", "Hello, I lead the team.": "talk",
	} {
		candidates, err := f.Extract(t.Context(), formationtest.Session(said))
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		for _, c := range candidates {
			if got = "memory"; c.Tier == memory.TierTalk {
				got = "talk"
			}
			if got == want && strings.Contains(c.Content, said[:5]) {
				break
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s: %+v", said, got, want, candidates)
		}
	}
}
