package floatmatrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// random also has numbers between its rows.
func random(r *rand.Rand, rows, columns, between int) Matrix {
	m := Matrix{Rows: rows, Columns: columns, Stride: columns + between,
		Numbers: make([]float32, rows*(columns+between)-between)}
	for i := range m.Numbers {
		m.Numbers[i] = float32(r.NormFloat64())
	}
	return m
}

func TestAProductIsThatOfTheDefinition(t *testing.T) {
	products(t)
	for _, instructions := range []*bool{&has512, &has256} { // the library comes last
		if before := *instructions; before {
			*instructions = false
			t.Cleanup(func() { *instructions = before })
			t.Run("with less", products)
		}
	}
}

func products(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, size := range [][3]int{{1, 1, 1}, {7, 5, 3}, {8, 32, 8}, {9, 32, 9}, {35, 32, 35}, {35, 35, 32}, {129, 7, 65},
		{16, 1, 16}} {
		for _, between := range []int{0, 3} {
			t.Run(fmt.Sprint(size, between), func(t *testing.T) {
				a, b := random(r, size[0], size[1], between), random(r, size[1], size[2], between)
				out := random(r, size[0], size[2], between)
				before := append([]float32(nil), out.Numbers...)
				Multiply(out, a, b)
				for i, got := range out.Numbers {
					row, column := i/out.Stride, i%out.Stride
					if column >= out.Columns {
						if got != before[i] {
							t.Fatalf("what stands behind row %d has changed", row)
						}
						continue
					}
					want, most := 0.0, 0.0
					for k := range a.Columns {
						p := float64(a.Numbers[row*a.Stride+k]) * float64(b.Numbers[k*b.Stride+column])
						want, most = want+p, most+math.Abs(p)
					}
					if math.Abs(float64(got)-want) > 1e-6*most+1e-9 {
						t.Fatalf("row %d, column %d: %v, want %v", row, column, got, want)
					}
				}
			})
		}
	}
}

func TestWhatDoesNotGoTogetherPanics(t *testing.T) {
	m := func(rows, columns, numbers int) Matrix {
		return Matrix{Numbers: make([]float32, numbers), Rows: rows, Columns: columns, Stride: columns}
	}
	for name, of := range map[string][3]Matrix{
		"inner sizes":     {m(2, 2, 4), m(2, 3, 6), m(2, 2, 4)},
		"too few numbers": {m(9, 2, 18), m(9, 2, 17), m(2, 2, 4)},
		"nothing":         {m(0, 2, 0), m(0, 2, 0), m(2, 2, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("multiplied")
				}
			}()
			Multiply(of[0], of[1], of[2])
		})
	}
}

func BenchmarkMultiply(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, size := range map[string][3]int{"head": {35, 32, 35}, "layer": {35, 384, 1536}} {
		b.Run(name, func(b *testing.B) {
			out, x, y := random(r, size[0], size[2], 0), random(r, size[0], size[1], 352), random(r, size[1], size[2], 0)
			for b.Loop() {
				Multiply(out, x, y)
			}
			b.ReportMetric(2*float64(size[0]*size[1]*size[2])*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
		})
	}
}
