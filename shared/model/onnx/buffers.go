package onnx

import "slices"

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
