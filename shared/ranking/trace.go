package ranking

import (
	"fmt"
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Trace is a decision of the ranker, kept until its citations are known.
type Trace struct {
	// RecallID identifies the recall.
	RecallID string
	// FeatureSet is the feature set of the weights used.
	FeatureSet string
	// WeightsVersion is the version of the weights used.
	WeightsVersion uint64
	// Query is the projected embedding of the query; empty if unknown.
	Query []float32
	// Candidates are all that were ranked.
	Candidates []Candidate
	// Shown names, by place in Candidates, those that were chosen, best first.
	Shown []int
	// Explored says that they were drawn (Settings.Sample), and not the best by score (Top). Learn goes by it.
	Explored bool
	// Tried is the place of an exploration candidate. The other places are the best by score.
	Tried Tried
}

// Validate returns the trace's fault as a terminal error that names the field.
func (t Trace) Validate() error {
	if len(t.RecallID) == 0 || len(t.RecallID) > MaxIDBytes {
		return fault.Terminal("recall_id", "has %d bytes, want 1 to %d", len(t.RecallID), MaxIDBytes)
	}
	if len(t.FeatureSet) > MaxIDBytes {
		return fault.Terminal("feature_set", "has %d bytes, want at most %d", len(t.FeatureSet), MaxIDBytes)
	}
	features := 0
	if len(t.Candidates) > 0 {
		features = len(t.Candidates[0].Features)
	}
	if features > MaxFeatures {
		return fault.Terminal("candidates.features", "has %d numbers, want at most %d", features, MaxFeatures)
	}
	if err := (Weights{W: make([]float32, features)}).check(t.Query, t.Candidates); err != nil {
		return err
	}
	if err := t.checkIDs(); err != nil {
		return err
	}
	if err := t.Tried.validate(len(t.Shown)); err != nil {
		return err
	}
	return t.checkShown()
}

func (t Trace) checkIDs() error {
	seen := make(map[string]bool, len(t.Candidates))
	for i, c := range t.Candidates {
		if len(c.ID) == 0 || len(c.ID) > MaxIDBytes {
			return fault.Terminal("candidates.id", "has %d bytes at %d, want 1 to %d", len(c.ID), i, MaxIDBytes)
		}
		if seen[c.ID] {
			return fault.Terminal("candidates.id", "is repeated at %d, want each memory once", i)
		}
		seen[c.ID] = true
	}
	return nil
}

func (t Trace) checkShown() error {
	taken := make([]bool, len(t.Candidates))
	for i, place := range t.Shown {
		if place < 0 || place >= len(taken) || taken[place] {
			return fault.Terminal("shown", "has %d at %d, want each of %d candidates at most once", place, i, len(taken))
		}
		taken[place] = true
	}
	return nil
}

// The first byte of an encoded trace: of one without anything tried, and of one with it.
const (
	traceFormat      = 1
	triedTraceFormat = 2
)

// EncodeTrace writes a trace: some 140 bytes a candidate with 20 features and a vector. Vectors are rounded as
// EncodeVector does, all else is exact. A trace that is not valid is a terminal error.
func EncodeTrace(t Trace) ([]byte, error) {
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("encode trace: %w", err)
	}
	features := 0
	if len(t.Candidates) > 0 {
		features = len(t.Candidates[0].Features)
	}
	w := writer{b: make([]byte, 0, 256+len(t.Candidates)*(64+4*features))}
	if t.Tried == (Tried{}) {
		w.byte(traceFormat)
	} else {
		w.byte(triedTraceFormat)
		w.number(uint64(t.Tried.Place))
		w.number(uint64(t.Tried.Of))
		w.floats([]float32{t.Tried.Propensity})
	}
	w.text(t.RecallID)
	w.text(t.FeatureSet)
	w.number(t.WeightsVersion)
	w.flag(t.Explored)
	w.vector(t.Query)
	w.number(uint64(features))
	w.number(uint64(len(t.Candidates)))
	for _, c := range t.Candidates {
		w.id(c.ID)
		w.floats(c.Features)
		w.floats([]float32{c.Cosine})
		w.vector(c.Projected)
	}
	w.number(uint64(len(t.Shown)))
	for _, place := range t.Shown {
		w.number(uint64(place))
	}
	return w.b, nil
}

// DecodeTrace reads the output of EncodeTrace. Other input is a terminal error that names the field. The input's
// length bounds the allocated memory.
func DecodeTrace(b []byte) (Trace, error) {
	r := reader{b: b}
	var t Trace
	if r.format(traceFormat, triedTraceFormat) == triedTraceFormat {
		t.Tried = Tried{
			Place:      r.count("tried.place", MaxCandidates),
			Of:         r.count("tried.of", MaxCandidates),
			Propensity: r.float("tried.propensity"),
		}
		if t.Tried == (Tried{}) {
			r.fail("tried", "is nothing, which is written as format %d", traceFormat)
		}
	}
	t.RecallID, t.FeatureSet, t.WeightsVersion = r.text("recall_id"), r.text("feature_set"), r.number("weights_version")
	t.Explored, t.Query = r.flag("explored"), r.vector("query")
	features := r.count("features", MaxFeatures)
	for range r.count("candidates", MaxCandidates) {
		if r.err != nil {
			break
		}
		t.Candidates = append(t.Candidates, Candidate{
			ID: r.id("candidates.id"), Features: r.floats("candidates.features", features),
			Cosine: r.float("candidates.cosine"), Projected: r.vector("candidates.vector"),
		})
	}
	for range r.count("shown", MaxCandidates) {
		t.Shown = append(t.Shown, r.count("shown", MaxCandidates-1))
	}
	r.end()
	if r.err == nil {
		r.err = t.Validate()
	}
	if r.err != nil {
		return Trace{}, fmt.Errorf("decode trace: %w", r.err)
	}
	return t, nil
}

// Rewards of a memory that was cited, and of one that was shown and not cited (RMM 6.2).
const (
	citedReward  = 1
	passedReward = -1
)

// rewards returns the reward of each place of Shown. It is 0 for a chosen memory that the generator did not see, since
// its value is unknown. Memories that were not chosen are ignored.
func (t Trace) rewards(shown, cited []string) ([]float64, error) {
	places := make(map[string]int, len(t.Shown))
	for i, c := range t.Shown {
		places[t.Candidates[c].ID] = i
	}
	rewards := make([]float64, len(t.Shown))
	for _, id := range shown {
		if place, chosen := places[id]; chosen {
			rewards[place] = passedReward
		}
	}
	for i, id := range cited {
		if !slices.Contains(shown, id) {
			return nil, fault.Terminal("cited_ids", "has at %d a memory that is not among the shown", i)
		}
		if place, chosen := places[id]; chosen {
			rewards[place] = citedReward
		}
	}
	return rewards, nil
}
