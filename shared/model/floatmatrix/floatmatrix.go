// Package floatmatrix multiplies matrices of numbers whose rows may be apart in memory, such as one head's part of the queries of an
// attention: libraries take matrices whose rows follow each other, and are slow where those are a few dozen numbers long.
package floatmatrix

import (
	"fmt"

	"github.com/viterin/vek/vek32"
)

// A product is made in tiles of so many rows and columns, where the processor has instructions for it (AVX-512).
const (
	tileRows    = 8
	tileColumns = 16
)

// Matrix is a view of numbers: Rows rows of Columns numbers each, whose beginnings are Stride numbers apart.
type Matrix struct {
	Numbers               []float32
	Rows, Columns, Stride int
}

// Multiply writes the product of two matrices. It panics where they do not go together.
func Multiply(out, a, b Matrix) {
	if a.Columns != b.Rows || out.Rows != a.Rows || out.Columns != b.Columns {
		panic(fmt.Sprintf("floatmatrix: %d by %d times %d by %d for %d by %d",
			a.Rows, a.Columns, b.Rows, b.Columns, out.Rows, out.Columns))
	}
	for _, m := range []Matrix{out, a, b} {
		if m.Rows < 1 || m.Columns < 1 || m.Stride < m.Columns || len(m.Numbers) < (m.Rows-1)*m.Stride+m.Columns {
			panic(fmt.Sprintf("floatmatrix: %d numbers for %d rows of %d, %d apart", len(m.Numbers), m.Rows, m.Columns, m.Stride))
		}
	}
	if !supported || a.Rows < tileRows {
		product := vek32.MatMul(a.joined(), b.joined(), a.Columns)
		for r := range out.Rows {
			copy(out.Numbers[r*out.Stride:], product[r*out.Columns:(r+1)*out.Columns])
		}
		return
	}
	for first := 0; first < out.Columns; first += tileColumns {
		some := min(tileColumns, out.Columns-first)
		for row := 0; row < out.Rows; row += tileRows {
			row = min(row, out.Rows-tileRows) // the last tile makes some rows once more
			tile(&out.Numbers[row*out.Stride+first], &a.Numbers[row*a.Stride], &b.Numbers[first],
				out.Stride*4, a.Stride*4, b.Stride*4, a.Columns, 1<<some-1)
		}
	}
}

// joined are the numbers, row behind row.
func (m Matrix) joined() []float32 {
	if m.Stride == m.Columns {
		return m.Numbers[:m.Rows*m.Columns]
	}
	out := make([]float32, 0, m.Rows*m.Columns)
	for r := range m.Rows {
		out = append(out, m.Numbers[r*m.Stride:][:m.Columns]...)
	}
	return out
}
