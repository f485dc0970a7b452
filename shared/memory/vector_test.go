package memory_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
)

func FuzzVectorJSON(f *testing.F) {
	for _, s := range []string{`null`, `""`, `"AACAPwAAAEA="`, `"AAA="`, `"?"`, `[1,2]`, `1`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var v, again memory.Vector
		if json.Unmarshal([]byte(s), &v) != nil {
			return
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%q is read and not written: %v", s, err)
		}
		if err := json.Unmarshal(out, &again); err != nil || len(again) != len(v) || (again == nil) != (v == nil) {
			t.Fatalf("%q becomes %q: %v", s, out, err)
		}
		for i := range v {
			if math.Float32bits(v[i]) != math.Float32bits(again[i]) {
				t.Fatalf("%q: number %d changes", s, i)
			}
		}
	})
}

func TestVectorJSONIsLittleEndianBase64(t *testing.T) {
	out, err := json.Marshal(memory.Vector{1, 2})
	if err != nil || string(out) != `"AACAPwAAAEA="` {
		t.Errorf("got %s, %v", out, err)
	}
	for _, bad := range []string{`"AAA="`, `"?"`, `[1]`} {
		var v memory.Vector
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s is read as %v", bad, v)
		}
	}
}

func TestCosine(t *testing.T) {
	for name, c := range map[string]struct {
		a, b memory.Vector
		want float64
	}{
		"same direction": {memory.Vector{1, 2}, memory.Vector{2, 4}, 1},
		"opposite":       {memory.Vector{1, 0}, memory.Vector{-3, 0}, -1},
		"right angle":    {memory.Vector{1, 0}, memory.Vector{0, 1}, 0},
		"zero":           {memory.Vector{0, 0}, memory.Vector{1, 0}, 0},
		"lengths":        {memory.Vector{1}, memory.Vector{1, 0}, 0}, "nil": {nil, nil, 0},
		"large": {memory.Vector{math.MaxFloat32, 0}, memory.Vector{math.MaxFloat32, 0}, 1},
	} {
		if got := memory.Cosine(c.a, c.b); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: got %g, want %g", name, got, c.want)
		}
	}
}
