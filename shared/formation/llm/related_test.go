package llm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
)

// A candidate has few related memories: the nearest ones, and any that fills its slot.
func TestACandidateHasFewRelatedMemories(t *testing.T) {
	for name, c := range map[string]struct {
		similarity []float64
		slots      []string
		most       int
		want       []string
	}{
		"the nearest of many":    {[]float64{0.9, 0.8, 0.7, 0.6, 0.6}, nil, 3, []string{"m0", "m1", "m2"}},
		"none below the least":   {[]float64{0.19, 0.1, -0.2}, nil, 3, nil},
		"none far from the best": {[]float64{0.62, 0.36, 0.38}, nil, 3, []string{"m0", "m2"}},
		"the slot at any distance": {[]float64{0.9, 0.8, 0.7, 0.05}, []string{"", "", "", "ana/home"}, 3,
			[]string{"m3", "m0", "m1"}},
		"all without similarities": {nil, []string{"", ""}, 3, []string{"m0", "m1"}},
	} {
		r := formation.Related{Candidate: formation.Candidate{Slot: "ana/home"}, Similarity: c.similarity}
		for i := range max(len(c.similarity), len(c.slots)) {
			m := formationtest.Stored(fmt.Sprint("m", i), "x")
			if m.Slot = ""; i < len(c.slots) {
				m.Slot = c.slots[i]
			}
			r.Memories = append(r.Memories, m)
		}
		got := llm.Nearest(formation.Bundle{Related: []formation.Related{r}}, c.most).Related[0]
		var ids []string
		for _, m := range got.Memories {
			ids = append(ids, m.ID)
		}
		if !slices.Equal(ids, c.want) || c.similarity != nil && len(got.Similarity) != len(ids) {
			t.Errorf("%s: got %v with %v, want %v", name, ids, got.Similarity, c.want)
		}
	}
}

// The manager learns that a candidate is an assistant's, because it may then change no memory.
func TestADecisionShowsWhatAnAssistantSaid(t *testing.T) {
	in := formationtest.Bundle([]string{"Ana needs a tent.", "The assistant suggested a tunnel tent."})
	in.Session.Turns[1].Role = memory.RoleAssistant
	got, err := llm.NewDecisionInput(in)
	if err != nil || got.Candidates[0].Role != "" || got.Candidates[1].Role != "assistant" {
		t.Errorf("got %+v, %v", got, err)
	}
}
