package embedded_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestAReplyIsTalk(t *testing.T) {
	f := embedded.NewFormer(embedded.Identity{PolicyVersion: "test/1"})
	long := strings.Repeat("Boil the beans for twenty minutes, then add garlic and lemon. ", 80)
	for name, tt := range map[string]struct {
		said  string
		parts int
		has   string
	}{
		"a plan": {"Day one is the old harbour and the tile museum. Day two is a train to Sintra. Does that suit you?", 1,
			"tile museum"},
		"long":   {long, 4, "garlic"},
		"praise": {"That sounds wonderful, you are so talented!", 0, ""},
		"a question": {"Would you rather see the old harbour first, or the tile museum, or the castle above the town?", 0,
			""},
		"quoted": {"The page on harbours says about it:\n> We moved to Berlin and sold our red boat there.\n", 1,
			"[quotes: We moved"},
		"one line": {strings.Repeat("beans,garlic,lemon;", 600), 1, "garlic"},
		"code": {
			"Use a set to remove duplicates, since sets keep each value once:\n```go\nseen := map[string]bool{}\n```", 1,
			"[code: seen",
		},
		"promise": {"From now on I'll answer in plain sentences.", 1, "plain sentences"},
	} {
		got, err := f.Extract(t.Context(), formation.Session{
			ID: "s", Turns: []memory.Turn{{ID: "t1", SessionID: "s", Role: memory.RoleAssistant, Text: tt.said}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != tt.parts {
			t.Errorf("%s: %d parts, want %d", name, len(got), tt.parts)
		}
		for _, c := range got {
			if c.Tier != memory.TierTalk || c.Neighbours == formation.NoNeighbours || strings.Contains(c.Content, "?") {
				t.Errorf("%s: got %+v", name, c)
			}
		}
		if len(got) > 0 && !strings.Contains(got[0].Content, tt.has) {
			t.Errorf("%s: %q lacks %q", name, got[0].Content, tt.has)
		}
	}
}
