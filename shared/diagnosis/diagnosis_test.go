package diagnosis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/diagnosis"
	"github.com/mneme-memory/mneme/shared/memory"
)

var dropped = &memory.Dropped{TurnID: "t1", Score: 0.1234, Threshold: 0.35, PolicyVersion: "filter/3"}

const (
	active     = memory.StatusActive
	superseded = memory.StatusSuperseded
	retracted  = memory.StatusRetracted
)

func made(ms ...diagnosis.Memory) diagnosis.Evidence {
	return diagnosis.Evidence{TurnID: "t1", Kept: true, Memories: ms, Candidates: 20, Places: 5}
}

func with(e diagnosis.Evidence, change func(*diagnosis.Evidence)) diagnosis.Evidence {
	change(&e)
	return e
}

func TestEveryStageIsNamed(t *testing.T) {
	shown := diagnosis.Memory{ID: "m1", Status: active, Retrieved: 7, Ranked: 2, Shown: true}
	cited := with(made(shown), func(e *diagnosis.Evidence) { e.Memories[0].Cited = true })
	for name, c := range map[string]struct {
		evidence diagnosis.Evidence
		want     diagnosis.Stage
		reason   string
	}{
		"never said": {diagnosis.Evidence{TurnID: "t1"}, diagnosis.NotIngested, "no turn that tells it"},
		"on its way": {diagnosis.Evidence{TurnID: "t1", Pending: true}, diagnosis.NotIngested,
			"waits in working memory"},
		"on its way after it was dropped": {diagnosis.Evidence{TurnID: "t1", Pending: true, Dropped: dropped},
			diagnosis.NotIngested, "waits"},
		"dropped": {diagnosis.Evidence{TurnID: "t1", Dropped: dropped}, diagnosis.DroppedByFilter,
			"filter/3 scored the turn 0.123, below its threshold of 0.350"},
		"dropped once and kept later": {diagnosis.Evidence{TurnID: "t1", Kept: true, Dropped: dropped},
			diagnosis.NotExtracted,
			"no memory was made"},
		"marked, and nothing made of it": {with(made(), func(e *diagnosis.Evidence) {
			e.Saliency = memory.SaliencyDecision{Score: 0.125, Threshold: 0.25, PolicyVersion: "filter/3",
				Mode: memory.SaliencyMark}
		}), diagnosis.NotExtracted, "which only marks, scored it 0.125, below its threshold of 0.250"},
		"nothing made of it": {made(), diagnosis.NotExtracted, "no memory was made"},
		"something else made of it": {with(made(), func(e *diagnosis.Evidence) { e.Silent = 3 }), diagnosis.NotExtracted,
			"(3) none says it"},
		"superseded and retracted": {made(diagnosis.Memory{Status: superseded}, diagnosis.Memory{Status: retracted}),
			diagnosis.LostInUpdate, "(2) no longer hold: 1 superseded, 1 retracted"},
		"talk alone, not retrieved": {made(diagnosis.Memory{Status: active, Tier: memory.TierTalk}), diagnosis.NotRetrieved,
			"none of the pieces of talk that tell it (1) is among the 20 candidates; it is kept as talk, and no memory was made of it"},
		"talk alone, cut": {made(diagnosis.Memory{Status: active, Tier: memory.TierTalk, Retrieved: 7}),
			diagnosis.CutByReranker,
			"among the 5 that were ranked first; it is kept as talk"},
		"talk alone, retracted": {made(diagnosis.Memory{Status: retracted, Tier: memory.TierTalk}), diagnosis.LostInUpdate,
			"the pieces of talk that tell it (1) no longer hold"},
		"talk and a memory": {made(diagnosis.Memory{Status: active}, diagnosis.Memory{Status: active, Tier: memory.TierTalk}),
			diagnosis.NotRetrieved, "none of the memories that tell it (2) is among the 20 candidates"},
		"talk alone, cited": {made(diagnosis.Memory{Status: active, Tier: memory.TierTalk, Cited: true}), diagnosis.Answered,
			"the answer uses it"},
		"quarantined": {made(diagnosis.Memory{Status: memory.StatusQuarantined}, diagnosis.Memory{Status: superseded}),
			diagnosis.LostInUpdate, "of the memories that tell it (2) 1 are quarantined"},
		"quarantined, asked for the past": {with(made(diagnosis.Memory{Status: memory.StatusQuarantined}),
			func(e *diagnosis.Evidence) {
				e.Past = true
			}), diagnosis.LostInUpdate, "quarantined"},
		"a successor names the turn": {made(diagnosis.Memory{Status: superseded}, diagnosis.Memory{Status: active}),
			diagnosis.NotRetrieved, "(2) is among the 20 candidates"},
		"superseded, asked for the past": {with(made(diagnosis.Memory{Status: superseded}), func(e *diagnosis.Evidence) {
			e.Past = true
		}),
			diagnosis.NotRetrieved, "20 candidates"},
		"without its turn, as imported": {with(made(diagnosis.Memory{Status: active}), func(e *diagnosis.Evidence) {
			e.Kept = false
		}),
			diagnosis.NotRetrieved, "20 candidates"},
		"not retrieved": {made(diagnosis.Memory{Status: active}), diagnosis.NotRetrieved, "(1) is among the 20 candidates"},
		"cut": {made(diagnosis.Memory{Status: active, Retrieved: 7}), diagnosis.CutByReranker,
			"place 7 of 20, and not among the 5"},
		"left out": {made(diagnosis.Memory{Status: active, Retrieved: 7, Ranked: 5}), diagnosis.LeftOutOfProfile,
			"place 5 of 5"},
		"not used": {made(shown), diagnosis.Generator, "does not use it"},
		"abstained": {with(made(shown), func(e *diagnosis.Evidence) { e.Abstained = true }), diagnosis.Generator,
			"memory does not"},
		"in the core block alone": {with(made(), func(e *diagnosis.Evidence) { e.Uncited = true }), diagnosis.Generator,
			"without a citation"},
		"cited": {cited, diagnosis.Answered, "uses it"},
		"cited, and judged wrong": {with(cited, func(e *diagnosis.Evidence) {
			e.Verdict = diagnosis.Wrong
		}), diagnosis.Generator,
			"does not use it"},
		"judged right": {with(made(), func(e *diagnosis.Evidence) { e.Verdict = diagnosis.Right }), diagnosis.Answered,
			"uses it"},
		"of several the farthest counts": {made(diagnosis.Memory{Status: active},
			diagnosis.Memory{Status: active, Retrieved: 9, Ranked: 4},
			diagnosis.Memory{Status: active, Retrieved: 3}), diagnosis.LeftOutOfProfile, "place 4"},
		"a retrieved one that lost status": {made(diagnosis.Memory{Status: superseded, Retrieved: 2}),
			diagnosis.CutByReranker, "place 2"},
	} {
		t.Run(name, func(t *testing.T) {
			got := diagnosis.Diagnose(c.evidence)
			if got.Stage != c.want || !strings.Contains(got.Reason, c.reason) || got.TurnID != "t1" ||
				len(got.MemoryIDs) != len(c.evidence.Memories) {
				t.Errorf("got %s: %+v, want %s: %q", got.Stage, got, c.want, c.reason)
			}
		})
	}
}

func TestPlacesAreTheBest(t *testing.T) {
	got := diagnosis.Diagnose(made(
		diagnosis.Memory{ID: "a", Status: active, Retrieved: 9, Ranked: 4},
		diagnosis.Memory{ID: "b", Status: active, Retrieved: 3},
		diagnosis.Memory{ID: "c", Status: active},
	))
	if got.Retrieved != 3 || got.Ranked != 4 || !slices.Equal(got.MemoryIDs, []string{"a", "b", "c"}) {
		t.Errorf("got %+v", got)
	}
}

func TestEarliest(t *testing.T) {
	for want, stages := range map[diagnosis.Stage][]diagnosis.Stage{
		diagnosis.Unspecified:     nil,
		diagnosis.Answered:        {diagnosis.Answered, diagnosis.Answered},
		diagnosis.DroppedByFilter: {diagnosis.Answered, diagnosis.DroppedByFilter, diagnosis.Generator},
	} {
		var findings []diagnosis.Finding
		for _, s := range stages {
			findings = append(findings, diagnosis.Finding{Stage: s})
		}
		if got := diagnosis.Earliest(findings); got != want {
			t.Errorf("of %v: got %s, want %s", stages, got, want)
		}
	}
}

func TestStagesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{"": true, diagnosis.Unspecified.String(): true}
	for i, s := range diagnosis.Stages() {
		if seen[s.String()] || int(s) != i+1 {
			t.Errorf("stage %d is number %d and called %q", i+1, s, s)
		}
		seen[s.String()] = true
	}
}

// For any evidence, Diagnose names one stage with a reason. Evidence of a memory that came farther never moves the
// finding back.
func TestDiagnoseNamesOneStage(t *testing.T) {
	statuses := []memory.Status{active, superseded, retracted}
	rapid.Check(t, func(r *rapid.T) {
		e := diagnosis.Evidence{
			Kept: rapid.Bool().Draw(r, "kept"), Pending: rapid.Bool().Draw(r, "pending"), Past: rapid.Bool().Draw(r, "past"),
			Uncited: rapid.Bool().Draw(r, "uncited"), Abstained: rapid.Bool().Draw(r, "abstained"),
			Silent:  rapid.IntRange(0, 2).Draw(r, "silent"),
			Verdict: diagnosis.Verdict(rapid.IntRange(0, 2).Draw(r, "verdict")), Candidates: 20, Places: 5,
		}
		if rapid.Bool().Draw(r, "dropped") {
			e.Dropped = dropped
		}
		for i := range rapid.IntRange(0, 3).Draw(r, "memories") {
			e.Memories = append(e.Memories, diagnosis.Memory{
				ID: fmt.Sprint(i), Status: rapid.SampledFrom(statuses).Draw(r, "status"),
				Retrieved: rapid.IntRange(0, 20).Draw(r, "retrieved"),
				Ranked:    rapid.IntRange(0, 5).Draw(r, "ranked"), Shown: rapid.Bool().Draw(r, "shown"),
				Cited: rapid.Bool().Draw(r, "cited"),
			})
		}
		got := diagnosis.Diagnose(e)
		if !slices.Contains(diagnosis.Stages(), got.Stage) || got.Reason == "" {
			r.Fatalf("got %+v", got)
		}
		e.Memories = append(slices.Clone(e.Memories),
			diagnosis.Memory{ID: "more", Status: active, Retrieved: 1, Ranked: 1, Shown: true})
		if more := diagnosis.Diagnose(e); more.Stage < got.Stage || more.Stage < diagnosis.Generator {
			r.Fatalf("with one more memory shown: %s after %s", more.Stage, got.Stage)
		}
	})
}
