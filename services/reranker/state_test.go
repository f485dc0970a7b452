package reranker

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

func someWeights(version uint64) ranking.Weights {
	return ranking.Weights{
		Version: version, FeatureSet: "test/1", W: []float32{1, -0.25}, FeatureScale: []float32{1, 2},
		Aq: []float32{0, 1, 2, 3}, Am: []float32{math.SmallestNonzeroFloat32, 0, 0, -1},
	}
}

func TestStatesAndVersionsComeBackAsTheyWere(t *testing.T) {
	pending := ranking.Pending{Count: 2, W: []float32{0.5, 1}}
	s := tenantState{State: ranking.State{Weights: someWeights(3), Learned: 14, Pending: pending}, Hour: 490_000,
		Reports: 7}
	b, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeState(b); err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("got %+v, %v", got, err)
	}
	to := uint64(1)
	v := version{Weights: someWeights(3), Time: time.Unix(1, 5).UTC(), Learned: 14, Distance: 0.25, RolledBackTo: &to}
	stored, err := v.encode()
	if err != nil || stored.Number != 3 {
		t.Fatalf("stored as %d, %v", stored.Number, err)
	}
	if got, err := decodeVersion(stored); err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("got %+v, %v", got, err)
	}
	stored.Number = 4
	if _, err := decodeVersion(stored); err == nil {
		t.Error("a version under another number was taken")
	}
}

func FuzzDecodeState(f *testing.F) {
	b, err := tenantState{State: ranking.State{Weights: someWeights(3)}}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"hour":-1,"state":"AQ=="}`))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeState(b)
		if err != nil {
			return
		}
		again, err := s.encode()
		if err != nil {
			t.Fatalf("cannot be written again: %v", err)
		}
		if got, err := decodeState(again); err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("got %+v, %v, want %+v", got, err, s)
		}
	})
}

func FuzzDecodeVersion(f *testing.F) {
	v, err := version{Weights: someWeights(3)}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(v.Number, v.Body)
	f.Add(uint64(0), []byte(`{}`))
	f.Fuzz(func(t *testing.T, number uint64, body []byte) {
		v, err := decodeVersion(weights.Version{Number: number, Body: body})
		if err != nil {
			return
		}
		if v.Weights.Version != number || v.message().GetVersion() != number {
			t.Fatalf("%d came back as %d", number, v.Weights.Version)
		}
	})
}
