package memory_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
)

func TestNewerMemoriesAreWalkedOnce(t *testing.T) {
	entry := func(id string, links ...string) memory.Memory {
		return memory.Memory{ID: id, Status: memory.StatusActive, Links: links}
	}
	closed := entry("x", "a")
	closed.Status = memory.StatusSuperseded
	// d links to c, and c and b link to a; e and f link to each other.
	n := memory.NewerOf([]memory.Memory{closed, entry("d", "c"), entry("c", "a"), entry("b", "a"), entry("e", "f"),
		entry("f", "e")},
		func(m memory.Memory) memory.Memory { return m })
	for _, c := range []struct {
		from, want string
		most       int
	}{
		{"a", "c b d", math.MaxInt}, {"a", "c d", 1}, {"e", "f e", math.MaxInt}, {"d", "", math.MaxInt},
		{"a c", "c b d", math.MaxInt},
	} {
		var got []string
		n.Walk(strings.Fields(c.from), c.most, func(m memory.Memory) bool {
			if slices.Contains(got, m.ID) {
				return false
			}
			got = append(got, m.ID)
			return true
		})
		if strings.Join(got, " ") != c.want {
			t.Errorf("from %s, at most %d: got %v, want %s", c.from, c.most, got, c.want)
		}
	}
	if n.IsEmpty() || len(n.Of("a")) != 2 {
		t.Errorf("the newer memories of a are %v", n.Of("a"))
	}
}
