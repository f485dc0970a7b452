// Package bytematrix multiplies by matrices of signed bytes. It needs a processor with AVX-512 VNNI or AVX2. It
// rounds an input vector to 127 steps of its largest number. The sums are exact, and the same with both sets of
// instructions.
package bytematrix

import "fmt"

// layout is the form in which a set of instructions takes a matrix.
type layout struct {
	// A matrix is multiplied in tiles. A tile has tileRows rows of the other matrix and tileColumns columns of this
	// one. A step has stepRows rows of this matrix.
	tileRows, tileColumns, stepRows int
	// offset makes signed bytes unsigned for instructions that need one unsigned factor.
	offset int
}

// lanes is how many numbers are rounded at a time.
const lanes = 16

// Matrix has signed bytes that stand for multiples of a factor of each column. It is immutable.
type Matrix struct {
	rows, columns int
	layout
	// packed has the bytes by tile of columns, step, column and row, with the offset added.
	packed  []uint8
	factors []float32
}

// Fits reports whether this package can multiply by a matrix of that size on this processor.
func Fits(rows, columns int) bool {
	in, ok := native()
	return ok && rows > 0 && columns > 0 && rows%lanes == 0 && columns%in.tileColumns == 0
}

// New takes a matrix, row by row, with a factor for each column. It panics where Fits is false for the size.
//
//go:norace
func New(rows, columns int, steps []int8, factors []float32) *Matrix {
	if !Fits(rows, columns) || len(steps) != rows*columns || len(factors) != columns {
		panic(fmt.Sprintf("bytematrix: %d bytes and %d factors for %d by %d", len(steps), len(factors), rows, columns))
	}
	in, _ := native()
	m := &Matrix{rows: rows, columns: columns, layout: in, packed: make([]uint8, 0, len(steps)), factors: factors}
	for first := 0; first < columns; first += in.tileColumns {
		for row := 0; row < rows; row += in.stepRows {
			for column := first; column < first+in.tileColumns; column++ {
				for r := row; r < row+in.stepRows; r++ {
					m.packed = append(m.packed, uint8(int(steps[r*columns+column])+in.offset)) //nolint:gosec // the bits of a byte
				}
			}
		}
	}
	return m
}

// Multiply returns the product of a matrix, given row by row, with this one. It takes the result's numbers from
// room, which need not be 0. It panics where a row is not as long as this matrix is high.
func (m *Matrix) Multiply(a []float32, room func(int) []float32) []float32 {
	if len(a)%m.rows != 0 {
		panic(fmt.Sprintf("bytematrix: %d numbers for rows of %d", len(a), m.rows))
	}
	if m.stepRows == vnni.stepRows {
		return multiply(m, a, room, quantizeToBytes, tileOfBytes)
	}
	return multiply(m, a, room, quantizeToWords, tileOfWords)
}

// multiply rounds the rows of a to numbers of type N, and multiplies tile by tile.
//
//go:norace
func multiply[N int8 | int16](
	m *Matrix, a []float32, room func(int) []float32,
	quantize func(to *N, from *float32, n int, by float32, sums *[lanes]int32),
	tile func(out *float32, steps *N, packed *uint8, columnFactors, rowFactors *float32, offsets *int32, stride, height,
		count int),
) []float32 {
	n := len(a) / m.rows
	padded := (n + m.tileRows - 1) / m.tileRows * m.tileRows
	steps, factors, offsets := make([]N, padded*m.rows), make([]float32, padded), make([]int32, padded)
	for r := range n {
		row := a[r*m.rows : (r+1)*m.rows]
		top := largestOf(row)
		if top == 0 {
			continue
		}
		var sums [lanes]int32
		quantize(&steps[r*m.rows], &row[0], len(row), 127/top, &sums)
		factors[r] = top / 127
		for _, s := range sums {
			offsets[r] += int32(m.offset) * s //nolint:gosec // 0 or 128
		}
	}
	out := room(padded * m.columns)
	for first := 0; first < m.columns; first += m.tileColumns {
		for r := 0; r < padded; r += m.tileRows {
			tile(&out[r*m.columns+first], &steps[r*m.rows], &m.packed[first*m.rows], &m.factors[first], &factors[r], &offsets[r],
				m.columns*4, m.rows, m.rows/m.stepRows)
		}
	}
	return out[:n*m.columns]
}

// largestOf returns the largest absolute value of a row.
//
//go:norace
func largestOf(row []float32) float32 {
	var most [lanes]float32
	largest(&row[0], len(row), &most)
	top := float32(0)
	for _, x := range most {
		top = max(top, x)
	}
	return top
}
