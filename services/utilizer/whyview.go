package utilizer

import (
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/diagnosis"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// candidateViews returns a recall's candidates as seen by the query, in order of retrieval.
func candidateViews(r Result) []*mnemev1.CandidateView {
	shown, place := map[string]bool{}, map[string]int{}
	for _, m := range r.Profile.Cited {
		shown[m.ID] = true
	}
	for i, s := range r.Ranked {
		place[s.Memory.ID] = i + 1
	}
	out := make([]*mnemev1.CandidateView, len(r.Retrieved))
	for i, s := range r.Retrieved {
		v := &mnemev1.CandidateView{
			MemoryId: s.Memory.ID, TurnIds: s.Memory.Sources, Shown: shown[s.Memory.ID], Explored: s.Memory.ID == r.Explored,
			Retrieved: uint32(i + 1), Ranked: uint32(place[s.Memory.ID]), //nolint:gosec // at most 200
		}
		if v.Ranked > 0 {
			v.Score = r.Ranked[v.Ranked-1].Score
		}
		out[i] = v
	}
	return out
}

func findingTo(f diagnosis.Finding) *mnemev1.Finding {
	return &mnemev1.Finding{
		TurnId: f.TurnID, Reason: f.Reason, MemoryIds: f.MemoryIDs,
		Stage:     mnemev1.Stage(f.Stage),                        //nolint:gosec // one of ten
		Retrieved: uint32(f.Retrieved), Ranked: uint32(f.Ranked), //nolint:gosec // at most 200
	}
}

func scoredIDs(scored []bank.Scored) []string {
	return converted(scored, func(s bank.Scored) string { return s.Memory.ID })
}
