package utilizer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/query/intent"
)

// linkedMemories reads memories such as "b>a", where b is newer than a and links to it. Later ones are newer.
func linkedMemories(spec string) []memory.Memory {
	var out []memory.Memory
	for i, s := range strings.Fields(spec) {
		id, older, _ := strings.Cut(s, ">")
		m := memory.Memory{ID: id, Status: memory.StatusActive, ValidFrom: now.AddDate(0, 0, i)}
		if older != "" {
			m.Links = strings.Split(older, ",")
		}
		out = append(out, m)
	}
	return out
}

func TestNewerMemoriesTakePlacesOfRankedOnes(t *testing.T) {
	for name, c := range map[string]struct {
		core, candidates string
		ranked, own      []int
		memories         int
		explored, want   string
	}{
		"an own place stays": {"", "a x y z w allergy b>a", []int{0, 1, 2, 3, 4}, []int{5}, 5, "",
			"a x y z allergy b"},
		"the explored memory stays": {"", "a x y z w b>a", []int{0, 1, 2, 3, 4}, nil, 5, "w", "a x y w b"},
		"newer than an own place": {"", "a x y z w allergy b>allergy", []int{0, 1, 2, 3, 4}, []int{5}, 5, "",
			"a x y z allergy b"},
		"a chain of newer memories":    {"", "a x y c>b b>a", []int{0, 1, 2}, nil, 3, "", "a b c"},
		"a removed pair":               {"", "a x y b>a c>x d>y", []int{0, 1, 2}, nil, 3, "", "a b c"},
		"the two newest of many":       {"", "a x y z w b>a c>a d>a e>a", []int{0, 1, 2, 3, 4}, nil, 5, "", "a x y e d"},
		"the newest in the only place": {"", "a b>a c>b", []int{0}, nil, 1, "", "c"},
		"memories that link in a ring": {"", "a>b b>a", []int{0}, nil, 2, "", "a b"},
		"no newer memory":              {"", "a x b>z", []int{0, 1}, nil, 2, "", "a x"},
		"the core block":               {"core", "a x b>core", []int{0, 1}, nil, 2, "", "a x b"},
		"the core block's chain":       {"core", "a c>b b>core", []int{0}, nil, 1, "", "a b c"},
	} {
		got := utilizer.Shown(linkedMemories(c.core), linkedMemories(c.candidates), c.ranked, c.own, c.memories, c.explored)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", name, got, c.want)
		}
	}
}

// A line of the core block has at most two newer memories beside it.
func TestTheCoreBlockHasFewNewerMemories(t *testing.T) {
	spec := "a x"
	for i := range 100 {
		spec += fmt.Sprintf(" n%d>core", i)
	}
	got := utilizer.Shown(linkedMemories("core"), linkedMemories(spec), []int{0, 1}, nil, 2, "")
	if want := []string{"a", "x", "n99", "n98"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A chain of newer memories is complete, whatever the order of their scores.
func TestTheCandidatesHaveAllNewerMemories(t *testing.T) {
	if got := utilizer.Chosen(linkedMemories("a c>b b>a x"), 1); strings.Join(got, " ") != "a b c" {
		t.Errorf("got %v, want a b c", got)
	}
}

// A memory of the past is one candidate, although it is also beside the later version of its turn.
func TestAMemoryOfThePastIsOneCandidate(t *testing.T) {
	later, earlier := memory.Memory{ID: "later", ValidFrom: now},
		memory.Memory{ID: "earlier", ValidFrom: now.AddDate(0, -2, 0)}
	h := query.Horizon{Intent: intent.Past, At: now.AddDate(0, -1, 0), Exact: true}
	if got := utilizer.WithinHorizon(h, [][]memory.Memory{{later, earlier}, {earlier}}); !slices.Equal(got,
		[]string{"earlier"}) {
		t.Errorf("got %v, want the earlier version once", got)
	}
}

// A memory that the floor removed, and that returns beside an older one, is not reported as removed.
func TestAReturnedMemoryIsNotReportedAsRemoved(t *testing.T) {
	r := told(t, memory.RoleAssistant, "Assistant", "I am allergic to peanuts and shellfish.",
		"The printer is jammed again.",
		"Thanks, that was all.")
	r.Floor = 0.15
	edit(t, r, func(m *memory.Memory) {
		if strings.HasPrefix(m.Content, "Thanks") {
			m.Links = []string{memory.DeriveID(ana, []string{"said0"}, 0)}
		}
	})
	got, err := r.Recall(t.Context(), acme, asks("What could I cook with peanuts or shellfish for my allergic self?"))
	if err != nil || len(got.Ranked) != 2 || !slices.Equal(got.Floored,
		[]string{memory.DeriveID(ana, []string{"said1"}, 0)}) {
		t.Errorf("shows %q, removed %v, %v", contents(got.Evidence.Memories), got.Floored, err)
	}
}
