package memoryr2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// shownTo is the data of the manager's one call on a bundle.
func shownTo(t *testing.T, b formation.Bundle) string {
	t.Helper()
	s := llmtest.New(t)
	if _, err := operations(t.Context(), newFormer(t, s), b); err != nil {
		t.Fatal(err)
	}
	return string(s.Calls(model.RoleFactManager)[0].Data())
}

func TestAFactSeesMemoriesOfItsSpeaker(t *testing.T) {
	for name, tc := range map[string]struct {
		fact, slot, memory, of string
		want                   bool
	}{
		"same":                  {"Ana likes tea.", "", "Ana drinks tea.", "", true},
		"the other one's":       {"Ana likes tea.", "", "Ben drinks tea.", "", false},
		"both are named":        {"Ana likes tea.", "", "Ben and Ana drink tea.", "", true},
		"about the first named": {"Ana likes Ben's tea.", "", "Ben drinks tea.", "", false},
		"full name":             {"Ana Reis likes tea.", "", "Ana drinks tea.", "", true},
		"possessive":            {"Ana's sister likes tea.", "", "Ana’s sister drinks tea.", "", true},
		"by the fact's slot":    {"Tea is the favourite.", "ben/favourite", "Ben drinks tea.", "", true},
		"by the memory's slot": {"Ana likes tea.", "", "Tea is the favourite.", "ana's sister/favourite",
			true},
		"by who said it":                      {"Eva likes tea.", "", "Eva is the sister of Ana.", "", true},
		"said by the other one":               {"Eva likes tea.", "", "Eva is the sister of Ben.", "", false},
		"neither names anybody":               {"Tea is good.", "", "Tea is hot.", "", true},
		"the memory names nobody":             {"Ana likes tea.", "", "Tea is hot.", "", false},
		"a word like a name in small letters": {"Will likes tea.", "", "Ana will drink tea.", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := stored("m-1", tc.memory)
			m.Slot = tc.of
			b := bundle([]string{tc.fact, "x", "x"}, m)
			b.Session.Turns[0].Speaker, b.Session.Turns[1].Speaker, b.Session.Turns[2].Speaker = "Ana Reis", "Ben", "Will"
			b.Related = b.Related[:1]
			b.Related[0].Candidate.Slot = tc.slot
			if got := strings.Contains(shownTo(t, b), `"m1"`); got != tc.want {
				t.Errorf("shown: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestAFactSeesFiveNearMemories(t *testing.T) {
	var near []memory.Memory
	for i := range 8 {
		near = append(near, stored(fmt.Sprintf("m-%d", i), fmt.Sprintf("Ana %d", i)))
	}
	b := bundle([]string{"Ana"}, near...)
	// as the bank ranks them, which is by words, too
	b.Related[0].Similarity = []float64{0.3, 0.8, 0.05, 0.7, 0.1, 0.5, 0.4, 0.9}
	if data := shownTo(t, b); !strings.Contains(data, `"related":["m1","m2","m3","m4","m5"]`) ||
		!inOrder(data, "Ana 7", "Ana 1", "Ana 3", "Ana 5", "Ana 6") || strings.Contains(data, "Ana 0") ||
		strings.Contains(data, "Ana 2") || strings.Contains(data, "Ana 4") {
		t.Errorf("shown is %s", data)
	}
}

// inOrder reports whether a text has all the words, one behind the other.
func inOrder(text string, words ...string) bool {
	for _, w := range words {
		_, behind, ok := strings.Cut(text, w)
		if !ok {
			return false
		}
		text = behind
	}
	return true
}

// A memory of another speaker is unrelated to a fact, at any similarity. The speaker's memories come from all twenty
// results of the bank.
func TestAFactsOwnMemoriesAreFoundBehindOthers(t *testing.T) {
	var found []memory.Memory
	for i := range 19 {
		m := stored(fmt.Sprintf("m-%d", i), "I live in Porto.")
		m.Speaker = "Ben"
		found = append(found, m)
	}
	own := stored("m-own", "I live in Faro.")
	own.Speaker = "Ana"
	for name, f := range map[string]formation.Former{"embedded": quoting(moves...), "llm": newFormer(t, llmtest.New(t))} {
		facts, err := f.Extract(t.Context(), session("I live in Braga now."))
		if err != nil || len(facts) != 1 || facts[0].Neighbours != 0 {
			t.Fatalf("%s: %+v, %v, want a fact that is held against as many as the bank finds", name, facts, err)
		}
	}
	b := bundle([]string{"I live in Braga now."}, append(found, own)...)
	b.Related[0].Candidate.Speaker = "Ana"
	out, err := operations(t.Context(), quoting(moves...), b)
	if err != nil || !slices.Equal(kinds(out), []memory.OpKind{memory.OpUpdate}) ||
		!slices.Equal(out[0].Targets, []string{"m-own"}) {
		t.Errorf("got %+v, %v", out, err)
	}
}

// The least similarity applies only to a prompt; without one, the relation models detect unrelated memories.
func TestTheEmbeddedPolicySeesWhatIsHardlySimilar(t *testing.T) {
	own := stored("m-own", "I live in Faro.")
	own.Speaker = "Ana"
	b := bundle([]string{"I live in Braga now."}, own)
	b.Related[0].Candidate.Speaker, b.Related[0].Similarity = "Ana", []float64{-0.02}
	out, err := operations(t.Context(), quoting(moves...), b)
	if err != nil || !slices.Equal(kinds(out), []memory.OpKind{memory.OpUpdate}) {
		t.Errorf("got %+v, %v, want an update", out, err)
	}
	if data := shownTo(t, b); strings.Contains(data, "m1") {
		t.Errorf("a prompt shows it, too: %s", data)
	}
}

// Twenty-five memories for all facts together: the nearest of each fact is among them before the fifth of any.
func TestACallSeesTwentyFiveMemories(t *testing.T) {
	b := bundle(make([]string, 20))
	for i := range b.Related {
		b.Related[i].Candidate.Content = "Ana"
		for j := range 5 {
			b.Related[i].Memories = append(b.Related[i].Memories,
				stored(fmt.Sprintf("m-%d-%d", i, j), fmt.Sprintf("Ana %d %d", i, j)))
			b.Related[i].Similarity = append(b.Related[i].Similarity, 0.9-float64(j)/10-float64(i)/1000)
		}
	}
	data := shownTo(t, b)
	if n := strings.Count(data, `"content":"Ana `); n != 25 {
		t.Errorf("%d memories are shown, want 25", n)
	}
	for i := range b.Related {
		if !strings.Contains(data, fmt.Sprintf(`"content":"Ana %d 0"`, i)) {
			t.Errorf("the nearest memory of fact %d is not shown", i)
		}
	}
	if !strings.Contains(data, `"content":"Ana 4 1"`) || strings.Contains(data, `"content":"Ana 5 1"`) {
		t.Error("the second nearest of the nearest five facts are not those shown")
	}
}
