// Package bytematrix multiplies by matrices of signed bytes, on processors that have instructions for it (AVX-512 VNNI). A vector that
// comes in is rounded to 127 steps of its largest number; what is summed up is exact.
package bytematrix

import "fmt"

// A matrix is multiplied in tiles of so many rows of the other matrix, and so many columns of its own; four rows of it make a step.
const (
	tileRows    = 8
	tileColumns = 32
	stepRows    = 4
	lanes       = 16
	// offset makes signed bytes unsigned, as the instruction wants one of its factors.
	offset = 128
)

// Matrix has signed bytes that stand for multiples of a factor of each column. It does not change.
type Matrix struct {
	rows, columns int
	// packed has the bytes by tile of columns, step, column and row, with offset added.
	packed  []uint8
	factors []float32
}

// Fits reports whether a matrix of that size can be multiplied by here, on this processor.
func Fits(rows, columns int) bool {
	return supported && rows > 0 && columns > 0 && rows%lanes == 0 && columns%tileColumns == 0
}

// New takes a matrix, row by row, with a factor for each column. It panics where it does not fit.
func New(rows, columns int, steps []int8, factors []float32) *Matrix {
	if !Fits(rows, columns) || len(steps) != rows*columns || len(factors) != columns {
		panic(fmt.Sprintf("bytematrix: %d bytes and %d factors for %d by %d", len(steps), len(factors), rows, columns))
	}
	m := &Matrix{rows: rows, columns: columns, packed: make([]uint8, 0, len(steps)), factors: factors}
	for first := 0; first < columns; first += tileColumns {
		for row := 0; row < rows; row += stepRows {
			for column := first; column < first+tileColumns; column++ {
				for r := row; r < row+stepRows; r++ {
					m.packed = append(m.packed, uint8(int(steps[r*columns+column])+offset)) //nolint:gosec // 0 to 255
				}
			}
		}
	}
	return m
}

// Multiply returns the product of a matrix, given row by row, with this one, in numbers that are taken from room, which need not be 0. It
// panics where a row is not as long as this matrix is high.
func (m *Matrix) Multiply(a []float32, room func(int) []float32) []float32 {
	if len(a)%m.rows != 0 {
		panic(fmt.Sprintf("bytematrix: %d numbers for rows of %d", len(a), m.rows))
	}
	n := len(a) / m.rows
	padded := (n + tileRows - 1) / tileRows * tileRows
	steps, factors, offsets := make([]int8, padded*m.rows), make([]float32, padded), make([]int32, padded)
	for r := range n {
		factors[r], offsets[r] = round(steps[r*m.rows:(r+1)*m.rows], a[r*m.rows:(r+1)*m.rows])
	}
	out := room(padded * m.columns)
	for first := 0; first < m.columns; first += tileColumns {
		for r := 0; r < padded; r += tileRows {
			tile(&out[r*m.columns+first], &steps[r*m.rows], &m.packed[first*m.rows], &m.factors[first], &factors[r], &offsets[r],
				m.columns*4, m.rows, m.rows/stepRows)
		}
	}
	return out[:n*m.columns]
}

// round writes a row as steps of a factor, and returns the factor and what the offset of the other matrix adds to the row's sums.
func round(to []int8, row []float32) (factor float32, added int32) {
	var most [lanes]float32
	largest(&row[0], len(row), &most)
	top := float32(0)
	for _, x := range most {
		top = max(top, x)
	}
	if top == 0 {
		return 0, 0
	}
	var sums [lanes]int32
	quantize(&to[0], &row[0], len(row), 127/top, &sums)
	for _, s := range sums {
		added += s
	}
	return top / 127, offset * added
}
