package ranking_test

import (
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/ranking"
)

// TestProjectionIsTheSameEverywhere looks at some numbers of projections: where they change, kept maps and vectors are
// worthless.
func TestProjectionIsTheSameEverywhere(t *testing.T) {
	p := ranking.NewProjector()
	for dimension, want := range map[int][]float32{256: {-0.28435937, 1.4017406, 0.17135432},
		100: {-0.29368055, 0.49632382, 0.27414533}} {
		got := p.Project(grid(source(1), dimension))[:len(want)]
		for i, x := range want {
			if math.Abs(float64(got[i]-x)) > 1e-5 {
				t.Errorf("dimension %d begins with %v, want %v", dimension, got, want)
			}
		}
	}
}

func TestProjectionIsOrthonormal(t *testing.T) {
	for _, dimension := range []int{65, 256, 768} {
		p := ranking.NewProjector()
		columns := make([][]float32, dimension)
		for j := range columns {
			unit := make([]float32, dimension)
			unit[j] = 1
			columns[j] = p.Project(unit)
		}
		for a := range ranking.Rank {
			for b := range a + 1 {
				product := 0.0
				for _, c := range columns {
					product += float64(c[a]) * float64(c[b])
				}
				want := 0.0
				if a == b {
					want = 1
				}
				if math.Abs(product-want) > 1e-6 {
					t.Fatalf("dimension %d: rows %d and %d have product %v, want %v", dimension, a, b, product, want)
				}
			}
		}
	}
}

func TestShortVectorsAreNotProjected(t *testing.T) {
	p := ranking.NewProjector()
	v := grid(source(1), ranking.MaxIdentity)
	got := p.Project(v)
	if !slices.Equal(got, v) {
		t.Errorf("got %v, want %v", got, v)
	}
	got[0]++
	if got[0] == v[0] {
		t.Error("the result shares the memory of the input")
	}
	if p.Project(nil) != nil {
		t.Error("no vector has a projection")
	}
}

func TestProjectorIsSafeForConcurrentUse(t *testing.T) {
	p, v := ranking.NewProjector(), grid(source(1), 128)
	got := make([][]float32, 8)
	var group sync.WaitGroup
	for i := range got {
		group.Go(func() { got[i] = p.Project(v) })
	}
	group.Wait()
	for _, g := range got {
		if !slices.Equal(g, got[0]) {
			t.Fatal("projections at one time differ")
		}
	}
}

func TestVectorsComeBackNearlyWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float32(), 0, ranking.MaxIdentity).Draw(t, "v")
		b, err := ranking.EncodeVector(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ranking.DecodeVector(b)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(v) {
			t.Fatalf("%d numbers came back as %d", len(v), len(got))
		}
		largest := 0.0
		for _, x := range v {
			largest = max(largest, math.Abs(float64(x)))
		}
		for i, x := range v {
			if math.Abs(float64(got[i])-float64(x)) > largest/253 && largest >= 0x1p-100 {
				t.Errorf("%v of at most %v came back as %v", x, largest, got[i])
			}
		}
	})
}

func TestVectorsRefuse(t *testing.T) {
	_, err := ranking.EncodeVector([]float32{0, float32(math.NaN())})
	wantField(t, err, "vector")
	for name, b := range map[string][]byte{
		"no numbers": {0, 0, 128, 63}, "too many numbers": make([]byte, 69), "an endless magnitude": {0, 0, 128, 127, 127},
		"a negative magnitude": {0, 0, 128, 191, 127}, "no full entry": {0, 0, 128, 63, 5},
		"the entry -128": {0, 0, 128, 63, 128, 127},
		"minus zero":     {0, 0, 0, 128, 0}, "entries of zero": {0, 0, 0, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ranking.DecodeVector(b)
			wantField(t, err, "vector")
		})
	}
}

func FuzzDecodeVector(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 127, 3, 129})
	f.Add([]byte{0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := ranking.DecodeVector(b)
		if err != nil {
			return
		}
		again, err := ranking.EncodeVector(v)
		if err != nil || !slices.Equal(again, b) {
			t.Fatalf("%x was read as %v and written as %x (%v)", b, v, again, err)
		}
	})
}
