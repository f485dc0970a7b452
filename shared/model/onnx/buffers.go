package onnx

import "slices"

// buffers are the numbers of a run's tensors, which are used again as soon as nothing takes them any more: a run makes hundreds of tensors,
// and memory that is new has to be cleared first and found again by the garbage collector.
type buffers struct {
	free [][]float32
	// taken counts by its first number how many values have a buffer.
	taken map[*float32]int
}

// numbers returns so many numbers, which are to be written first.
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
	} else { // the largest of the small ones gives way, so that there are never more than are taken at once
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

// take says that one value more has the numbers.
func (b *buffers) take(numbers []float32) {
	if len(numbers) == 0 {
		return
	}
	if n, own := b.taken[&numbers[0]]; own {
		b.taken[&numbers[0]] = n + 1
	}
}

// leave says that one value less has them. Without a run's memory it does nothing.
func (b *buffers) leave(numbers []float32) {
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
