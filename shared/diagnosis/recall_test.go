package diagnosis_test

import (
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/diagnosis"
	"github.com/mneme-memory/mneme/shared/memory"
)

func entry(id, content string, status memory.Status, sources ...string) memory.Memory {
	return memory.Memory{ID: id, Content: content, Status: status, Sources: sources}
}

// run is a query of a user who moved from Porto to Braga.
func run() diagnosis.Recall {
	return diagnosis.Recall{
		Query: "Where does Ana live?",
		Memories: []memory.Memory{
			entry("porto", "Ana lives in Porto.", superseded, "t1"), entry("braga", "Ana lives in Braga.", active, "t2"),
			entry("dog", "Ana has a dog.", active, "t2", "t3"), entry("nuts", "Ana is allergic to peanuts.", active, "t4"),
			entry("tea", "Ana likes tea.", active, "t5"),
		},
		Retrieved: []string{"dog", "braga", "tea"}, Ranked: []string{"braga", "tea"}, Shown: []string{"braga"},
		Cited:   []string{"braga"},
		Profile: []string{"Ana lives in Braga. [1]", "Ana: I am packing for Faro"}, Answer: "Braga [1]",
	}
}

func TestEvidenceOfATurn(t *testing.T) {
	for name, c := range map[string]struct {
		turn   diagnosis.Turn
		change func(*diagnosis.Recall)
		want   diagnosis.Stage
		ids    []string
	}{
		"answered, by one of two memories": {diagnosis.Turn{ID: "t2", Kept: true}, nil, diagnosis.Answered,
			[]string{"braga", "dog"}},
		"superseded": {diagnosis.Turn{ID: "t1", Kept: true}, nil, diagnosis.LostInUpdate,
			[]string{"porto"}},
		"superseded, asked for the past": {diagnosis.Turn{ID: "t1", Kept: true}, func(r *diagnosis.Recall) { r.Past = true },
			diagnosis.NotRetrieved, []string{"porto"}},
		"cut":           {diagnosis.Turn{ID: "t3", Kept: true}, nil, diagnosis.CutByReranker, []string{"dog"}},
		"not retrieved": {diagnosis.Turn{ID: "t4", Kept: true}, nil, diagnosis.NotRetrieved, []string{"nuts"}},
		"left out":      {diagnosis.Turn{ID: "t5", Kept: true}, nil, diagnosis.LeftOutOfProfile, []string{"tea"}},
		"not cited": {diagnosis.Turn{ID: "t2", Kept: true}, func(r *diagnosis.Recall) { r.Cited = nil },
			diagnosis.Generator, []string{"braga", "dog"}},
		"dropped":         {diagnosis.Turn{ID: "t9", Dropped: dropped}, nil, diagnosis.DroppedByFilter, nil},
		"kept and recent": {diagnosis.Turn{ID: "t9", Kept: true, Pending: true}, nil, diagnosis.NotExtracted, nil},
		"pending":         {diagnosis.Turn{ID: "t9", Pending: true}, nil, diagnosis.NotIngested, nil},
		"in the core block": {diagnosis.Turn{ID: "t9", Kept: true}, func(r *diagnosis.Recall) {
			r.Core = memory.Core{Version: 1, Sources: []string{"t9"}}
		}, diagnosis.Generator, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := run()
			if c.change != nil {
				c.change(&r)
			}
			if got := diagnosis.Diagnose(r.OfTurn(c.turn)); got.Stage != c.want || !slices.Equal(got.MemoryIDs, c.ids) ||
				got.TurnID != c.turn.ID {
				t.Errorf("got %s: %+v, want %s of %v", got.Stage, got, c.want, c.ids)
			}
		})
	}
}

func TestEvidenceOfAText(t *testing.T) {
	kept := []memory.Turn{
		{ID: "t1", Speaker: "Ana", Text: "I live in Porto"}, {ID: "t2", Speaker: "Ana", Text: "I moved to Braga with my dog"},
		{ID: "t4", Speaker: "Ana", Text: "I am allergic to peanuts"},
		{ID: "t7", Speaker: "Ana", Text: "Look", Caption: "a red bicycle"},
	}
	pending := []memory.Turn{{ID: "t8", Speaker: "Ana", Text: "I am packing for Faro and Tavira"}}
	for name, c := range map[string]struct {
		expect string
		change func(*diagnosis.Recall)
		want   diagnosis.Stage
		turn   string
	}{
		"answered, without the question's words": {"Ana lives in Braga", nil, diagnosis.Answered, ""},
		"answered, and the turn is known":        {"Braga", nil, diagnosis.Answered, "t2"},
		"abstained": {"Braga", func(r *diagnosis.Recall) {
			r.Abstained = true
		}, diagnosis.Generator, "t2"},
		"the answer repeats the question only": {"Ana lives", func(r *diagnosis.Recall) {
			r.Answer = "I cannot say"
		}, diagnosis.Generator,
			"t1"},
		"never said":                          {"Lisbon", nil, diagnosis.NotIngested, ""},
		"words apart from each other":         {"Lisbon peanuts", nil, diagnosis.NotIngested, ""},
		"pending":                             {"Tavira", nil, diagnosis.NotIngested, "t8"},
		"pending, and shown as a recent turn": {"Faro", nil, diagnosis.Generator, "t8"},
		"in a caption alone":                  {"red bicycle", nil, diagnosis.NotExtracted, "t7"},
		"superseded":                          {"Porto", nil, diagnosis.LostInUpdate, "t1"},
		"inflected, not retrieved":            {"allergic to a peanut", nil, diagnosis.NotRetrieved, "t4"},
		"cut":                                 {"dogs", nil, diagnosis.CutByReranker, "t2"},
		"left out, its turn is not known":     {"tea", nil, diagnosis.LeftOutOfProfile, ""},
		"in the raw dialogue of a memory": {"kettle", func(r *diagnosis.Recall) {
			r.Memories[4].Value = "Ana: my kettle broke"
		},
			diagnosis.LeftOutOfProfile, ""},
		"no word that carries content": {"is the", nil, diagnosis.NotIngested, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := run()
			if c.change != nil {
				c.change(&r)
			}
			if got := diagnosis.Diagnose(r.OfText(c.expect, kept, pending)); got.Stage != c.want || got.TurnID != c.turn {
				t.Errorf("got %s: %+v, want %s in %q", got.Stage, got, c.want, c.turn)
			}
		})
	}
}

func TestAMemoryThatSaysSomethingElseIsCounted(t *testing.T) {
	r := run()
	e := r.OfText("red bicycle", []memory.Turn{{ID: "t3", Text: "My dog chased a red bicycle"}}, nil)
	if e.Silent != 1 || len(e.Memories) != 0 || e.TurnID != "t3" {
		t.Errorf("got %+v", e)
	}
}
