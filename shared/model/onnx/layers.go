package onnx

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/viterin/vek/vek32"

	"github.com/mneme-memory/mneme/shared/model/bytematrix"
	"github.com/mneme-memory/mneme/shared/model/floatmatrix"
)

// reduce sums, or averages, along axes.
func reduce(mean bool) operator {
	return func(n node, in []tensor) (tensor, error) {
		t := in[0]
		if t.isInt() {
			return t, errKind
		}
		gone := map[int]bool{}
		for _, a := range axes(n, in) {
			p, err := axis(a, len(t.shape))
			if err != nil {
				return t, err
			}
			gone[p] = true
		}
		keep := true
		if a, ok := n.attributes["keepdims"]; ok {
			keep = a.i != 0
		}
		full, shape := slices.Clone(t.shape), []int{}
		for i, d := range t.shape {
			if !gone[i] && len(gone) > 0 {
				shape = append(shape, d)
				continue
			}
			full[i] = 1
			if keep {
				shape = append(shape, 1)
			}
		}
		sums, places := make([]float64, product(full)), tensor{shape: full, ints: make([]int64, product(full))}
		for i := range places.ints {
			places.ints[i] = int64(i)
		}
		for i, p := range places.spread(t.shape).ints {
			sums[p] += float64(t.floats[i])
		}
		out := tensor{shape: shape, floats: make([]float32, len(sums))}
		for i, s := range sums {
			if mean {
				s /= float64(t.size() / len(sums))
			}
			out.floats[i] = float32(s)
		}
		return out, nil
	}
}

func softmax(n node, in []tensor) (tensor, error) {
	t, at := in[0], int64(-1)
	if a, ok := n.attributes["axis"]; ok {
		at = a.i
	}
	if p, err := axis(at, len(t.shape)); err != nil || p != len(t.shape)-1 || t.isInt() {
		return t, fmt.Errorf("is along axis %d of shape %v, want numbers along the last", at, t.shape)
	}
	out := tensor{shape: t.shape, floats: n.numbers(len(t.floats))}
	width := t.shape[len(t.shape)-1]
	for from := 0; from < len(t.floats); from += width {
		softmaxRow(out.floats[from:from+width], t.floats[from:from+width])
	}
	return out, nil
}

//go:norace
func softmaxRow(to, row []float32) {
	most, sum := vek32.Max(row), float32(0)
	if wide {
		var sums [16]float32
		exponentials512(&to[0], &row[0], len(row), most, &sums)
		for _, x := range sums {
			sum += x
		}
	} else {
		for i, x := range row {
			to[i] = exponential(x - most)
			sum += to[i]
		}
	}
	vek32.DivNumber_Inplace(to, sum)
}

// exponential is e to the power of a number that is at most 0. It comes from a table, as gelu's function does.
// There are expSteps entries to the unit. The line between two entries is about 1e-6 of the value off. Below
// -expEnd it is 0, which is 2e-9 off.
//
//go:norace
func exponential(x float32) float32 {
	at := x*expSteps + expEnd*expSteps
	switch {
	case !(x <= 0):
		return float32(math.NaN())
	case at < 0:
		return 0
	}
	k := int(at)
	y := expTable[k]
	return y + (expTable[k+1]-y)*(at-float32(k))
}

const (
	expEnd   = 20
	expSteps = 1024
)

var expTable = func() (out [expEnd*expSteps + 2]float32) {
	for i := range out {
		out[i] = float32(math.Exp(float64(i)/expSteps - expEnd))
	}
	return out
}()

//go:norace
func layerNormalization(n node, in []tensor) (tensor, error) {
	t, width := in[0], len(in[1].floats)
	if rank := len(t.shape); rank == 0 || width == 0 || t.shape[rank-1] != width {
		return t, fmt.Errorf("has a scale of %d for a shape of %v, want the last axis'", width, t.shape)
	}
	epsilon := float32(1e-5)
	if a, ok := n.attributes["epsilon"]; ok {
		epsilon = a.f
	}
	out := tensor{shape: t.shape, floats: n.numbers(len(t.floats))}
	for from := 0; from < len(t.floats); from += width {
		row := out.floats[from : from+width]
		vek32.SubNumber_Into(row, t.floats[from:from+width], vek32.Mean(t.floats[from:from+width]))
		variance := vek32.Dot(row, row) / float32(width)
		vek32.DivNumber_Inplace(row, float32(math.Sqrt(float64(variance+epsilon))))
		vek32.Mul_Inplace(row, in[1].floats)
		if len(in) > 2 && in[2].floats != nil {
			vek32.Add_Inplace(row, in[2].floats)
		}
	}
	return out, nil
}

// dequantize makes floats of bytes that stand for multiples of a factor. The whole tensor has one factor, or each
// index of an axis has one.
//
//go:norace
func dequantize(n node, in []tensor) (tensor, error) {
	steps, scale := in[0], in[1]
	if steps.bytes == nil || len(scale.floats) == 0 || len(in) > 2 && in[2].size() > 0 && in[2].shape != nil {
		return steps, errors.New("is not of bytes with factors around zero")
	}
	at, a := 1, int64(1) // the standard's default axis
	if given, ok := n.attributes["axis"]; ok {
		a = given.i
	}
	inner := len(steps.bytes)
	if len(scale.floats) > 1 {
		var err error
		if at, err = axis(a, len(steps.shape)); err != nil {
			return steps, err
		}
		if steps.shape[at] != len(scale.floats) {
			return steps, fmt.Errorf("has %d factors for an axis of %d", len(scale.floats), steps.shape[at])
		}
		inner = product(steps.shape[at+1:])
	}
	out := tensor{shape: steps.shape, floats: make([]float32, 0, len(steps.bytes))}
	for from := 0; from < len(steps.bytes); {
		for _, factor := range scale.floats {
			for _, b := range steps.bytes[from : from+inner] {
				out.floats = append(out.floats, float32(b)*factor)
			}
			from += inner
		}
	}
	if len(steps.shape) == 2 && inner == 1 && len(scale.floats) > 1 && bytematrix.Fits(steps.shape[0], steps.shape[1]) {
		out.matrix = bytematrix.New(steps.shape[0], steps.shape[1], steps.bytes, scale.floats)
	}
	return out, nil
}

func matMul(of node, in []tensor) (tensor, error) {
	a, b := in[0], in[1]
	if a.isInt() || b.isInt() || len(a.shape) < 2 || len(b.shape) < 2 {
		return a, fmt.Errorf("has shapes %v and %v, want floats of at least two axes", a.shape, b.shape)
	}
	p, q := len(a.shape)-2, len(b.shape)-2
	n, inner, m := a.shape[p], a.shape[p+1], b.shape[q+1]
	if b.shape[q] != inner {
		return a, fmt.Errorf("has shapes %v and %v, which do not go together", a.shape, b.shape)
	}
	if product(b.shape[:q]) == 1 { // all rows at once
		n *= product(a.shape[:p])
		if b.matrix != nil && n > 0 {
			return tensor{shape: append(slices.Clone(a.shape[:p+1]), m), floats: b.matrix.Multiply(a.floats, of.numbers)}, nil
		}
		out := tensor{shape: append(slices.Clone(a.shape[:p+1]), m), floats: of.numbers(n * m)}
		multiply(out.floats, a.floats, b.floats, inner)
		return out, nil
	}
	batch, err := common(a.shape[:p], b.shape[:q])
	if err != nil {
		return a, err
	}
	a, b = a.spread(slices.Concat(batch, a.shape[p:])), b.spread(slices.Concat(batch, b.shape[q:]))
	out := tensor{shape: append(slices.Clone(batch), n, m), floats: of.numbers(product(batch) * n * m)}
	for i := range product(batch) {
		multiply(out.floats[i*n*m:(i+1)*n*m], a.floats[i*n*inner:(i+1)*n*inner], b.floats[i*inner*m:(i+1)*inner*m], inner)
	}
	return out, nil
}

// multiply writes the product of two matrices. The first has inner columns.
//
//go:norace
func multiply(out, a, b []float32, inner int) {
	if len(out) == 0 || inner == 0 {
		clear(out)
		return
	}
	rows, columns := len(a)/inner, len(b)/inner
	floatmatrix.Multiply(
		floatmatrix.Matrix{Numbers: out, Rows: rows, Columns: columns, Stride: columns},
		floatmatrix.Matrix{Numbers: a, Rows: rows, Columns: inner, Stride: inner},
		floatmatrix.Matrix{Numbers: b, Rows: inner, Columns: columns, Stride: columns},
	)
}

// gemm multiplies two matrices and adds a third.
func gemm(n node, in []tensor) (tensor, error) {
	a, b := in[0], in[1]
	for i, flag := range []string{"transA", "transB"} {
		if n.attributes[flag].i != 0 && len(in[i].shape) == 2 {
			*[]*tensor{&a, &b}[i] = in[i].transposed([]int{1, 0})
		}
	}
	out, err := matMul(n, []tensor{a, b})
	if err != nil {
		return out, err
	}
	factor := func(name string) float32 {
		if a, ok := n.attributes[name]; ok {
			return a.f
		}
		return 1
	}
	vek32.MulNumber_Inplace(out.floats, factor("alpha"))
	if len(in) < 3 || in[2].floats == nil {
		return out, nil
	}
	shape, err := common(out.shape, in[2].shape)
	if err != nil {
		return out, err
	}
	c := in[2].spread(shape)
	vek32.Add_Inplace(out.floats, vek32.MulNumber(c.floats, factor("beta")))
	return out, nil
}
