package onnx

import (
	"fmt"
	"slices"

	"github.com/mneme-memory/mneme/shared/model/bytematrix"
)

// tensor is an array of numbers in row-major order. The numbers are floats, ints or bytes. An int also stands for
// true (1) and false (0). Only DequantizeLinear reads bytes, and Gather reads bytes with factors. A tensor is a
// value: an operator never changes its inputs.
type tensor struct {
	shape  []int
	floats []float32
	ints   []int64
	bytes  []int8
	// factors has the factor of the bytes, by index of the first axis.
	factors []float32
	// matrix has the same numbers, of two axes, where the processor multiplies by bytes. Then floats are missing if
	// no other node reads them.
	matrix *bytematrix.Matrix
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func (t tensor) size() int { return product(t.shape) }

func (t tensor) isInt() bool { return t.floats == nil && t.matrix == nil }

// shaped returns the same numbers in another shape.
func (t tensor) shaped(shape []int) (tensor, error) {
	if product(shape) != t.size() {
		return t, fmt.Errorf("cannot make a shape of %v out of %v", shape, t.shape)
	}
	t.shape, t.matrix = shape, nil
	return t, nil
}

// axis is an index into a shape. A negative index counts from the end.
func axis(at int64, of int) (int, error) {
	if at < 0 {
		at += int64(of)
	}
	if at < 0 || at >= int64(of) {
		return 0, fmt.Errorf("has an axis %d of %d", at, of)
	}
	return int(at), nil
}

// picked returns the numbers at some places, in a shape.
func (t tensor) picked(shape []int, places []int) tensor {
	out := tensor{shape: shape}
	if t.isInt() {
		out.ints = pick(t.ints, places)
	} else {
		out.floats = pick(t.floats, places)
	}
	return out
}

//go:norace
func pick[T any](from []T, places []int) []T {
	out := make([]T, len(places))
	for i, p := range places {
		out[i] = from[p]
	}
	return out
}

// steps are how far apart neighbours are along each axis.
func steps(shape []int) []int {
	out, n := make([]int, len(shape)), 1
	for i := len(shape) - 1; i >= 0; i-- {
		out[i], n = n, n*shape[i]
	}
	return out
}

// strided returns the numbers at start plus steps along the axes of a shape.
func (t tensor) strided(shape, by []int, start int) tensor {
	if t.isInt() {
		return tensor{shape: shape, ints: stride(t.ints, shape, by, start)}
	}
	return tensor{shape: shape, floats: stride(t.floats, shape, by, start)}
}

//go:norace
func stride[T any](from []T, shape, by []int, start int) []T {
	out := make([]T, 0, product(shape))
	if product(shape) == 0 {
		return out
	}
	if len(shape) == 0 {
		return append(out, from[start])
	}
	last := len(shape) - 1
	index, at := make([]int, last), start
	for {
		for k := range shape[last] {
			out = append(out, from[at+k*by[last]])
		}
		i := last - 1
		for ; i >= 0; i-- {
			index[i]++
			at += by[i]
			if index[i] < shape[i] {
				break
			}
			at -= index[i] * by[i]
			index[i] = 0
		}
		if i < 0 {
			return out
		}
	}
}

// common is the common shape of two shapes, as in numpy.
func common(a, b []int) ([]int, error) {
	out := make([]int, max(len(a), len(b)))
	for i := range out {
		x, y := 1, 1
		if k := i - len(out) + len(a); k >= 0 {
			x = a[k]
		}
		if k := i - len(out) + len(b); k >= 0 {
			y = b[k]
		}
		switch {
		case x == y || y == 1:
			out[i] = x
		case x == 1:
			out[i] = y
		default:
			return nil, fmt.Errorf("has shapes %v and %v, which do not go together", a, b)
		}
	}
	return out, nil
}

// spread repeats a tensor to the shape from common.
func (t tensor) spread(shape []int) tensor {
	if slices.Equal(t.shape, shape) {
		return t
	}
	own, by := steps(t.shape), make([]int, len(shape))
	for i := range by {
		if k := i - len(shape) + len(t.shape); k >= 0 && t.shape[k] != 1 {
			by[i] = own[k]
		}
	}
	return t.strided(shape, by, 0)
}

// transposed has the axes in another order.
func (t tensor) transposed(order []int) tensor {
	own := steps(t.shape)
	shape, by := make([]int, len(order)), make([]int, len(order))
	for i, k := range order {
		shape[i], by[i] = t.shape[k], own[k]
	}
	return t.strided(shape, by, 0)
}

func scalarsOf(v ...int64) tensor { return tensor{shape: []int{len(v)}, ints: v} }

// buffers are the numbers of a run's tensors. The run reuses each buffer after its last reader. A run makes
// hundreds of tensors. New memory costs clearing and garbage collection.
type buffers struct {
	free [][]float32
	// taken counts, by its first number, how many values have a buffer.
	taken map[*float32]int
}

// numbers returns size numbers with undefined values. The caller must write them first.
func (n node) numbers(size int) []float32 {
	if n.buffers == nil || size == 0 {
		return make([]float32, size)
	}
	b := n.buffers
	best := -1
	for i, f := range b.free {
		if cap(f) >= size && (best < 0 || cap(f) < cap(b.free[best])) {
			best = i
		}
	}
	var out []float32
	if best >= 0 {
		out = b.free[best][:size]
	} else { // it replaces the largest of the small ones, so their number never exceeds the number in use
		out = make([]float32, size)
		for i, f := range b.free {
			if best < 0 || cap(f) > cap(b.free[best]) {
				best = i
			}
		}
	}
	if best >= 0 {
		b.free = slices.Delete(b.free, best, best+1)
	}
	b.taken[&out[0]] = 0
	return out
}

// retain adds one reader of the numbers.
func (b *buffers) retain(numbers []float32) {
	if len(numbers) == 0 {
		return
	}
	if n, own := b.taken[&numbers[0]]; own {
		b.taken[&numbers[0]] = n + 1
	}
}

// release removes one reader of the numbers. Without a run's memory it does nothing.
func (b *buffers) release(numbers []float32) {
	if b == nil || len(numbers) == 0 {
		return
	}
	switch n, own := b.taken[&numbers[0]]; {
	case !own:
	case n <= 1:
		delete(b.taken, &numbers[0])
		b.free = append(b.free, numbers)
	default:
		b.taken[&numbers[0]] = n - 1
	}
}
