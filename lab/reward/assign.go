package reward

import "math"

// assign returns the one-to-one assignment of rows to columns with the greatest total, by the column of each row. A
// row without a column has -1. Only pairs with a finite value may be assigned. Values are not negative, so an
// assignment is never worse than no assignment. It is the Hungarian method with shortest augmenting paths, O(n³).
func assign(value [][]float64) []int {
	rows := len(value)
	if rows == 0 {
		return nil
	}
	columns := len(value[0])
	// Each row has an extra column without cost. So all rows get a column, and columns are never too few.
	n := columns + rows
	cost := func(i, j int) float64 {
		switch {
		case j < columns && !math.IsInf(value[i][j], -1):
			return -value[i][j]
		case j == columns+i:
			return 0
		}
		return math.Inf(1)
	}
	u, v := make([]float64, rows+1), make([]float64, n+1) // potentials
	owner := make([]int, n+1)                             // row of a column, from 1; 0 for no row
	for i := 1; i <= rows; i++ {
		owner[0] = i
		least, from, used := make([]float64, n+1), make([]int, n+1), make([]bool, n+1)
		for j := range least {
			least[j] = math.Inf(1)
		}
		at := 0
		for owner[at] != 0 {
			used[at] = true
			row, step, next := owner[at], math.Inf(1), 0
			for j := 1; j <= n; j++ {
				if used[j] {
					continue
				}
				if c := cost(row-1, j-1) - u[row] - v[j]; c < least[j] {
					least[j], from[j] = c, at
				}
				if least[j] < step {
					step, next = least[j], j
				}
			}
			for j := 0; j <= n; j++ {
				switch {
				case used[j]:
					u[owner[j]] += step
					v[j] -= step
				case !math.IsInf(least[j], 1):
					least[j] -= step
				}
			}
			at = next
		}
		for at != 0 {
			owner[at], at = owner[from[at]], from[at]
		}
	}
	out := make([]int, rows)
	for i := range out {
		out[i] = -1
	}
	for j := 1; j <= columns; j++ {
		if owner[j] > 0 {
			out[owner[j]-1] = j - 1
		}
	}
	return out
}
