package bytematrix_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/model/bytematrix"
)

// TestAllInstructionsGiveTheSameBits checks that decisions are the same on every processor.
func TestAllInstructionsGiveTheSameBits(t *testing.T) {
	const n, rows, columns = 35, 384, 96
	if !bytematrix.Fits(rows, columns) {
		t.Logf("this processor has no such instructions; nothing uses the package here")
		return
	}
	r := rand.New(rand.NewPCG(1, 1))
	steps, factors, a := make([]int8, rows*columns), make([]float32, columns), make([]float32, n*rows)
	for i := range steps {
		steps[i] = int8(r.IntN(256) - 128)
	}
	for i := range factors {
		factors[i] = r.Float32() + 0.01
	}
	for i := range a {
		a[i] = float32(r.NormFloat64())
	}
	best := bytematrix.New(rows, columns, steps, factors).Multiply(a, room)
	bytematrix.LeaveOutVNNI(t)
	TestAProductIsThatOfTheRoundedNumbers(t)
	TestARowThatIsNoNumberStaysNone(t)
	if other := bytematrix.New(rows, columns, steps, factors).Multiply(a, room); !slices.Equal(best, other) {
		t.Error("AVX2 gives other numbers")
	}
}
