package bytematrix_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mneme-memory/mneme/shared/model/bytematrix"
)

func room(n int) []float32 { return make([]float32, n) }

// TestAProductIsThatOfTheRoundedNumbers compares products with products computed number by number.
func TestAProductIsThatOfTheRoundedNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, size := range [][3]int{{1, 16, 32}, {7, 48, 64}, {8, 384, 96}, {35, 384, 1536}, {9, 1536, 384}} {
		n, rows, columns := size[0], size[1], size[2]
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			if !bytematrix.Fits(rows, columns) {
				t.Logf("this processor has no such instructions; nothing uses the package here")
				return
			}
			steps, factors, a := make([]int8, rows*columns), make([]float32, columns), make([]float32, n*rows)
			for i := range steps {
				steps[i] = int8(r.IntN(256) - 128)
			}
			for i := range factors {
				factors[i] = r.Float32() + 0.01
			}
			for i := range a[:len(a)-rows] {
				a[i] = float32(r.NormFloat64())
			}
			if n == 1 {
				a[3], a[5] = -2, 0.5
			}
			got := bytematrix.New(rows, columns, steps, factors).Multiply(a, room)
			if len(got) != n*columns {
				t.Fatalf("%d numbers, want %d", len(got), n*columns)
			}
			for i := range n {
				row := a[i*rows : (i+1)*rows]
				top := 0.0
				for _, x := range row {
					top = max(top, math.Abs(float64(x)))
				}
				for c := range columns {
					want, most := 0.0, 0.0
					for k, x := range row {
						if top > 0 {
							q := math.RoundToEven(float64(x * float32(127/float32(top))))
							want += q * float64(steps[k*columns+c])
							most += math.Abs(q * float64(steps[k*columns+c]))
						}
					}
					scale := top / 127 * float64(factors[c])
					if diff := math.Abs(float64(got[i*columns+c]) - want*scale); diff > 1e-5*most*scale+1e-6 {
						t.Fatalf("row %d, column %d: %v, want %v", i, c, got[i*columns+c], want*scale)
					}
				}
			}
		})
	}
}

func TestARowThatIsNoNumberStaysNone(t *testing.T) {
	const rows, columns = 64, 32
	if !bytematrix.Fits(rows, columns) {
		t.Logf("this processor has no such instructions; nothing uses the package here")
		return
	}
	steps, factors := make([]int8, rows*columns), make([]float32, columns)
	for i := range steps {
		steps[i] = 1
	}
	for i := range factors {
		factors[i] = 1
	}
	m := bytematrix.New(rows, columns, steps, factors)
	for _, at := range []int{0, 20, 63} {
		a := make([]float32, 2*rows)
		for i := range a {
			a[i] = 1
		}
		a[at] = float32(math.NaN())
		got := m.Multiply(a, room)
		if x, y := got[0], got[columns]; x == x || math.Abs(float64(y)-rows) > 1e-3 {
			t.Errorf("with none at %d the rows have %v and %v", at, x, y)
		}
	}
}

func TestAMatrixOfOddSizeDoesNotFit(t *testing.T) {
	for _, size := range [][2]int{{0, 32}, {16, 0}, {15, 32}, {16, 5}} {
		if bytematrix.Fits(size[0], size[1]) {
			t.Errorf("%v fits", size)
		}
	}
}

func BenchmarkMultiply(b *testing.B) {
	const n, rows, columns = 40, 384, 1536
	if !bytematrix.Fits(rows, columns) {
		b.Skip("this processor has no such instructions")
	}
	m := bytematrix.New(rows, columns, make([]int8, rows*columns), make([]float32, columns))
	a := make([]float32, n*rows)
	for i := range a {
		a[i] = float32(i%7) - 3
	}
	for b.Loop() {
		m.Multiply(a, room)
	}
	b.ReportMetric(2*n*rows*columns*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOPS")
}
