package recall_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/evaluation/recall"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

func TestCascadeSplitsAQuestionOverItsTurns(t *testing.T) {
	c := recall.CascadeOf([]*mnemev1.Finding{
		{TurnId: "1", Stage: mnemev1.Stage_STAGE_DROPPED_BY_FILTER},
		{TurnId: "2", Stage: mnemev1.Stage_STAGE_CUT_BY_RERANKER},
		{TurnId: "3", Stage: mnemev1.Stage_STAGE_ANSWERED}, {TurnId: "4", Stage: mnemev1.Stage_STAGE_GENERATOR},
	})
	want := recall.Cascade{"dropped_by_filter": 0.25, "cut_by_reranker": 0.25, "answered": 0.25, "generator": 0.25}
	for _, stage := range recall.CascadeStages() {
		if c[stage] != want[stage] {
			t.Errorf("%s: %v, want %v", stage, c[stage], want[stage])
		}
	}
	if e := c.Errors(); e.Memory != 0.25 || e.Profile != 0.25 || e.Generation != 0.25 {
		t.Errorf("errors %+v", e)
	}
}

func TestACascadeIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		findings := make([]*mnemev1.Finding, rapid.IntRange(1, 9).Draw(t, "turns"))
		for i := range findings {
			stage := rapid.Int32Range(1, 9).Draw(t, "stage")
			findings[i] = &mnemev1.Finding{Stage: mnemev1.Stage(stage)}
		}
		c := recall.CascadeOf(findings)
		sum := 0.0
		for _, stage := range recall.CascadeStages() {
			sum += c[stage]
		}
		e := c.Errors()
		if math.Abs(sum-1) > 1e-9 || math.Abs(e.Memory+e.Profile+e.Generation+c["answered"]-1) > 1e-9 {
			t.Fatalf("shares sum to %v: %v", sum, c)
		}
	})
}
