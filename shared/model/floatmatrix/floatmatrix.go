// Package floatmatrix multiplies matrices with gaps between their rows in memory. An example is one head's part of
// the queries of an attention. Libraries need rows without gaps, and are slow for rows of a few dozen numbers. This
// package has code for AVX-512 and for AVX2. A library multiplies few rows, and serves other processors.
package floatmatrix

import (
	"fmt"
	"sync"

	"github.com/viterin/vek/vek32"
)

// A tile of a product has 16 columns, and 8 rows with AVX-512 or 6 rows with AVX2.
const (
	tileColumns = 16
	rows512     = 8
	rows256     = 6
)

// Matrix is a view of numbers: Rows rows of Columns numbers each. The starts of two rows are Stride numbers apart.
type Matrix struct {
	Numbers               []float32
	Rows, Columns, Stride int
}

// Multiply writes the product of two matrices. It panics where their shapes do not match.
//
//go:norace
func Multiply(out, a, b Matrix) {
	if a.Columns != b.Rows || out.Rows != a.Rows || out.Columns != b.Columns {
		panic(fmt.Sprintf("floatmatrix: %d by %d times %d by %d for %d by %d",
			a.Rows, a.Columns, b.Rows, b.Columns, out.Rows, out.Columns))
	}
	for _, m := range []Matrix{out, a, b} {
		if m.Rows < 1 || m.Columns < 1 || m.Stride < m.Columns || len(m.Numbers) < (m.Rows-1)*m.Stride+m.Columns {
			panic(fmt.Sprintf("floatmatrix: %d numbers for %d rows of %d, %d apart", len(m.Numbers), m.Rows, m.Columns,
				m.Stride))
		}
	}
	switch {
	case has512 && a.Rows >= rows512:
		multiply512(out, a, b)
	case has256 && a.Rows >= rows256:
		multiply256(out, a, b)
	default:
		product := vek32.MatMul(a.joined(), b.joined(), a.Columns)
		for r := range out.Rows {
			copy(out.Numbers[r*out.Stride:], product[r*out.Columns:(r+1)*out.Columns])
		}
	}
}

//go:norace
func multiply512(out, a, b Matrix) {
	for first := 0; first < out.Columns; first += tileColumns {
		some := min(tileColumns, out.Columns-first)
		for row := 0; row < out.Rows; row += rows512 {
			row = min(row, out.Rows-rows512) // the last tile computes some rows again
			tile512(&out.Numbers[row*out.Stride+first], &a.Numbers[row*a.Stride], &b.Numbers[first],
				out.Stride*4, a.Stride*4, b.Stride*4, a.Columns, 1<<some-1)
		}
	}
}

// panels are buffers for the columns of a tile.
var panels = sync.Pool{New: func() any { return new([]float32) }}

// multiply256 copies the columns of each tile, so that they are together in the cache.
//
//go:norace
func multiply256(out, a, b Matrix) {
	panel := panels.Get().(*[]float32) //nolint:errcheck // the pool has nothing else
	defer panels.Put(panel)
	if n := b.Rows * tileColumns; cap(*panel) < n {
		*panel = make([]float32, n)
	}
	packed, edge := (*panel)[:b.Rows*tileColumns], [rows256 * tileColumns]float32{}
	for first := 0; first < out.Columns; first += tileColumns {
		some := min(tileColumns, out.Columns-first)
		if some < tileColumns {
			clear(packed)
		}
		for r := range b.Rows {
			copy(packed[r*tileColumns:(r+1)*tileColumns], b.Numbers[r*b.Stride+first:r*b.Stride+first+some])
		}
		for row := 0; row < out.Rows; row += rows256 {
			row = min(row, out.Rows-rows256) // the last tile computes some rows again
			to, stride := &out.Numbers[row*out.Stride+first], out.Stride
			if some < tileColumns {
				to, stride = &edge[0], tileColumns
			}
			tile256(to, &a.Numbers[row*a.Stride], &packed[0], stride*4, a.Stride*4, a.Columns)
			for r := 0; some < tileColumns && r < rows256; r++ {
				copy(out.Numbers[(row+r)*out.Stride+first:][:some], edge[r*tileColumns:])
			}
		}
	}
}

// joined are the numbers, row after row.
//
//go:norace
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
