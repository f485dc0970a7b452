package ranking_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking"
)

func encoded(t testing.TB, tr ranking.Trace) []byte {
	t.Helper()
	b, err := ranking.EncodeTrace(tr)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// rounded is a vector after its codec.
func rounded(t testing.TB, v []float32) []float32 {
	t.Helper()
	b, err := ranking.EncodeVector(v)
	if err != nil {
		t.Fatal(err)
	}
	v, err = ranking.DecodeVector(b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTracesComeBack(t *testing.T) {
	mixed := trace(source(1), 9, 5, 32, 4)
	mixed.WeightsVersion, mixed.Explored = math.MaxUint64, false
	mixed.Candidates[3].ID = uuid.NewSHA1(uuid.NameSpaceOID, []byte("three")).String()
	mixed.Candidates[4].ID = strings.ToUpper(uuid.NewSHA1(uuid.NameSpaceOID, []byte("four")).String())
	mixed.Candidates[5].Projected = nil
	for name, want := range map[string]ranking.Trace{
		"of all kinds of candidates": mixed, "without vectors": trace(source(2), 3, 4, 0, 3),
		"without features": trace(source(3), 3, 0, 4, 2),
		"of nothing":       {RecallID: "r"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ranking.DecodeTrace(encoded(t, want))
			if err != nil {
				t.Fatal(err)
			}
			if len(want.Query) == 0 {
				want.Query = nil
			}
			want.Query = rounded(t, want.Query)
			for i := range want.Candidates {
				c := &want.Candidates[i]
				c.Projected = rounded(t, c.Projected)
				if len(c.Features) == 0 {
					c.Features = nil
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestTracesAreCompact(t *testing.T) {
	size := func(n int) int {
		tr := trace(source(1), n, 20, 32, 5)
		for i := range tr.Candidates {
			tr.Candidates[i].ID = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i)).String()
		}
		return len(encoded(t, tr))
	}
	if each := size(21) - size(20); each > 140 {
		t.Errorf("a candidate takes %d bytes, want at most 140", each)
	}
}

func TestTracesRefuse(t *testing.T) {
	for field, breaks := range map[string]func(*ranking.Trace){
		"recall_id":           func(tr *ranking.Trace) { tr.RecallID = "" },
		"feature_set":         func(tr *ranking.Trace) { tr.FeatureSet = strings.Repeat("x", ranking.MaxIDBytes+1) },
		"query":               func(tr *ranking.Trace) { tr.Query[0] = float32(math.Inf(1)) },
		"candidates":          func(tr *ranking.Trace) { tr.Candidates = make([]ranking.Candidate, ranking.MaxCandidates+1) },
		"candidates.id":       func(tr *ranking.Trace) { tr.Candidates[1].ID = tr.Candidates[0].ID },
		"candidates.features": func(tr *ranking.Trace) { tr.Candidates[1].Features = tr.Candidates[1].Features[1:] },
		"candidates.vector":   func(tr *ranking.Trace) { tr.Candidates[1].Projected = []float32{1} },
		"candidates.cosine":   func(tr *ranking.Trace) { tr.Candidates[1].Cosine = float32(math.NaN()) },
		"shown":               func(tr *ranking.Trace) { tr.Shown[0] = len(tr.Candidates) },
	} {
		tr := trace(source(1), 4, 3, 4, 2)
		breaks(&tr)
		_, err := ranking.EncodeTrace(tr)
		wantField(t, err, field)
	}
}

func TestCutTracesNameWhatIsMissing(t *testing.T) {
	b := encoded(t, trace(source(1), 3, 2, 4, 2))
	for n := range b {
		_, err := ranking.DecodeTrace(b[:n])
		if !fault.IsTerminal(err) || fault.Field(err) == "" {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(b), err)
		}
	}
	_, err := ranking.DecodeTrace(append(b, 0))
	if !fault.IsTerminal(err) {
		t.Errorf("a byte too many: %v", err)
	}
	b[0] = 3
	_, err = ranking.DecodeTrace(b)
	wantField(t, err, "format")
}

func FuzzDecodeTrace(f *testing.F) {
	f.Add(encoded(f, trace(source(1), 3, 2, 4, 2)))
	f.Add(encoded(f, trace(source(2), 2, 0, 0, 1)))
	f.Add([]byte{1, 1, 'r', 0, 0, 1, 0, 255, 1, 255, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := ranking.DecodeTrace(b)
		if err != nil {
			return
		}
		again, err := ranking.DecodeTrace(encoded(t, tr))
		if err != nil || !reflect.DeepEqual(tr, again) {
			t.Fatalf("read as %+v, and written and read again as %+v (%v)", tr, again, err)
		}
	})
}

// someState is in the middle of a batch.
func someState(t testing.TB) ranking.State {
	t.Helper()
	s, random, state := ranking.DefaultSettings(), source(1), ranking.NewState(prior())
	for range 6 {
		tr := trace(random, 6, 4, 3, 3)
		var err error
		if state, _, err = s.Learn(state, prior(), tr, ids(tr), ids(tr)[:1]); err != nil {
			t.Fatal(err)
		}
	}
	return state
}

func TestStatesComeBackExactly(t *testing.T) {
	for name, want := range map[string]ranking.State{"in the middle": someState(t), "new": ranking.NewState(prior()),
		"empty": {}} {
		b, err := ranking.EncodeState(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ranking.DecodeState(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v (%v), want %+v", name, got, err, want)
		}
	}
}

func TestStatesRefuse(t *testing.T) {
	nan := float32(math.NaN())
	for field, breaks := range map[string]func(*ranking.State){
		"w":             func(s *ranking.State) { s.Weights.W[0] = nan },
		"pending.w":     func(s *ranking.State) { s.Pending.W = s.Pending.W[1:] },
		"pending.aq":    func(s *ranking.State) { s.Pending.Aq, s.Pending.Am = make([]float32, 4), make([]float32, 4) },
		"pending.count": func(s *ranking.State) { s.Pending.Count = -1 },
		"am":            func(s *ranking.State) { s.Weights.Am = nil },
	} {
		state := someState(t)
		breaks(&state)
		_, err := ranking.EncodeState(state)
		wantField(t, err, field)
	}
	b, err := ranking.EncodeState(someState(t))
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if _, err := ranking.DecodeState(b[:n]); !fault.IsTerminal(err) || fault.Field(err) == "" {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(b), err)
		}
	}
}

func FuzzDecodeState(f *testing.F) {
	for _, s := range []ranking.State{someState(f), ranking.NewState(prior()), {}} {
		b, err := ranking.EncodeState(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ranking.DecodeState(b)
		if err != nil {
			return
		}
		again, err := ranking.EncodeState(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ranking.DecodeState(again); err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("read as %+v, and written and read again as %+v (%v)", s, got, err)
		}
	})
}
