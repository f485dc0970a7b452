package reward

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// total returns the value of an assignment, and whether it is one to one and allowed.
func total(value [][]float64, columns []int) (sum float64, ok bool) {
	taken := map[int]bool{}
	for i, j := range columns {
		if j < 0 {
			continue
		}
		if taken[j] || math.IsInf(value[i][j], -1) {
			return 0, false
		}
		taken[j] = true
		sum += value[i][j]
	}
	return sum, true
}

// best returns the greatest possible total, by trial of all assignments.
func best(value [][]float64, row int, taken map[int]bool) float64 {
	if row == len(value) {
		return 0
	}
	most := best(value, row+1, taken)
	for j, v := range value[row] {
		if !taken[j] && !math.IsInf(v, -1) {
			taken[j] = true
			most = max(most, v+best(value, row+1, taken))
			taken[j] = false
		}
	}
	return most
}

func TestNoAssignmentIsBetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, columns := rapid.IntRange(0, 5).Draw(t, "rows"), rapid.IntRange(0, 5).Draw(t, "columns")
		value := make([][]float64, rows)
		for i := range value {
			value[i] = make([]float64, columns)
			for j := range value[i] {
				if value[i][j] = math.Inf(-1); rapid.Bool().Draw(t, "allowed") {
					value[i][j] = float64(rapid.IntRange(0, 20).Draw(t, "value")) / 20
				}
			}
		}
		got, ok := total(value, assign(value))
		if want := best(value, 0, map[int]bool{}); !ok || math.Abs(got-want) > 1e-12 {
			t.Fatalf("%v assigned as %v: %v, allowed %t; want %v", value, assign(value), got, ok, want)
		}
	})
}

// The nearest of each row would give both rows the same column.
func TestThePairsAreBestTogether(t *testing.T) {
	if got := assign([][]float64{{0.9, 0.8}, {0.9, 0.1}}); got[0] != 1 || got[1] != 0 {
		t.Errorf("assigned %v, want the second to the first row", got)
	}
}
