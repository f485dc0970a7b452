package onnx

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

func constant(n node, _ []tensor) (tensor, error) {
	if a, ok := n.attributes["value"]; ok {
		return a.tensor, nil
	}
	if a, ok := n.attributes["value_int"]; ok {
		return tensor{ints: []int64{a.i}}, nil
	}
	if a, ok := n.attributes["value_ints"]; ok {
		return scalarsOf(a.ints...), nil
	}
	if a, ok := n.attributes["value_float"]; ok {
		return tensor{floats: []float32{a.f}}, nil
	}
	return tensor{}, errors.New("has no value of a kind that is known")
}

func constantOfShape(n node, in []tensor) (tensor, error) {
	value := tensor{shape: []int{1}, floats: []float32{0}}
	if a, ok := n.attributes["value"]; ok {
		value = a.tensor
	}
	shape := dimensions(in[0])
	if err := holdable(shape); err != nil {
		return tensor{}, err
	}
	return value.picked(shape, make([]int, product(shape))), nil
}

// maxNumbers bounds the result of an operator on a few numbers of a file. It is far more than any activation has.
const maxNumbers = 1 << 26

// holdable refuses a shape that no network needs, and that would take all memory.
func holdable(shape []int) error {
	n := 1
	for _, d := range shape {
		if d < 0 || d > maxNumbers || n*d > maxNumbers {
			return fmt.Errorf("makes a tensor of shape %v, want at most %d numbers", shape, maxNumbers)
		}
		n *= d
	}
	return nil
}

// dimensions reads a tensor of numbers as a shape.
func dimensions(t tensor) []int {
	out := make([]int, len(t.ints))
	for i, d := range t.ints {
		out[i] = int(d)
	}
	return out
}

func span(_ node, in []tensor) (tensor, error) {
	if !in[0].isInt() {
		return tensor{}, errKind
	}
	from, to, by := in[0].ints[0], in[1].ints[0], in[2].ints[0]
	if by == 0 {
		return tensor{}, errors.New("has a step of 0")
	}
	n := math.Ceil((float64(to) - float64(from)) / float64(by))
	if n > maxNumbers {
		return tensor{}, fmt.Errorf("counts from %d to %d by %d, want at most %d numbers", from, to, by, maxNumbers)
	}
	out := make([]int64, max(0, int(n)))
	for i := range out {
		out[i] = from + int64(i)*by
	}
	return scalarsOf(out...), nil
}

func shapeOf(n node, in []tensor) (tensor, error) {
	shape := in[0].shape
	from, to := n.attributes["start"].i, int64(len(shape))
	if a, ok := n.attributes["end"]; ok {
		to = a.i
	}
	out := []int64{}
	for i := bounded(from, len(shape)); i < bounded(to, len(shape)); i++ {
		out = append(out, int64(shape[i]))
	}
	return scalarsOf(out...), nil
}

// bounded returns an index between 0 and a length. A negative index counts from the end.
func bounded(at int64, length int) int {
	if at < 0 {
		at += int64(length)
	}
	return int(max(0, min(at, int64(length))))
}

func reshape(n node, in []tensor) (tensor, error) {
	shape, free, known := dimensions(in[1]), -1, 1
	for i, d := range shape {
		if d == 0 && n.attributes["allowzero"].i == 0 && i < len(in[0].shape) {
			shape[i] = in[0].shape[i]
		}
		if shape[i] < 0 {
			free = i
			continue
		}
		known *= shape[i]
	}
	if free >= 0 && known > 0 {
		shape[free] = in[0].size() / known
	}
	return in[0].shaped(shape)
}

// axes returns the axes of a node. They are an input or, in older files, an attribute.
func axes(n node, in []tensor) []int64 {
	if len(in) > 1 && in[1].ints != nil {
		return in[1].ints
	}
	return n.attributes["axes"].ints
}

func unsqueeze(n node, in []tensor) (tensor, error) {
	at := axes(n, in)
	shape := slices.Clone(in[0].shape)
	places := make([]int, len(at))
	for i, a := range at {
		var err error
		if places[i], err = axis(a, len(shape)+len(at)); err != nil {
			return in[0], err
		}
	}
	slices.Sort(places)
	for _, p := range places {
		shape = slices.Insert(shape, min(p, len(shape)), 1)
	}
	return in[0].shaped(shape)
}

func squeeze(n node, in []tensor) (tensor, error) {
	at := axes(n, in)
	gone := map[int]bool{}
	for _, a := range at {
		p, err := axis(a, len(in[0].shape))
		if err != nil {
			return in[0], err
		}
		gone[p] = true
	}
	shape := []int{}
	for i, d := range in[0].shape {
		if !gone[i] && (len(at) > 0 || d != 1) {
			shape = append(shape, d)
		}
	}
	return in[0].shaped(shape)
}

func transpose(n node, in []tensor) (tensor, error) {
	rank := len(in[0].shape)
	order := make([]int, rank)
	for i := range order {
		order[i] = rank - 1 - i
	}
	if given := n.attributes["perm"].ints; given != nil {
		order = dimensions(tensor{ints: given})
	}
	sorted := slices.Sorted(slices.Values(order))
	for i, k := range sorted {
		if i != k || len(order) != rank {
			return in[0], fmt.Errorf("has an order of axes %v for %d", order, rank)
		}
	}
	return in[0].transposed(order), nil
}

func expand(_ node, in []tensor) (tensor, error) {
	shape, err := common(in[0].shape, dimensions(in[1]))
	if err == nil {
		err = holdable(shape)
	}
	if err != nil {
		return in[0], err
	}
	return in[0].spread(shape), nil
}

func where(_ node, in []tensor) (tensor, error) {
	shape, err := common(in[1].shape, in[2].shape)
	if err == nil {
		shape, err = common(in[0].shape, shape)
	}
	if err != nil || in[1].isInt() != in[2].isInt() {
		return in[1], kindErr(err)
	}
	which, yes, no := in[0].spread(shape), in[1].spread(shape), in[2].spread(shape)
	out := tensor{shape: shape, floats: slices.Clone(yes.floats), ints: slices.Clone(yes.ints)}
	for i, x := range which.ints {
		switch {
		case x != 0:
		case out.isInt():
			out.ints[i] = no.ints[i]
		default:
			out.floats[i] = no.floats[i]
		}
	}
	return out, nil
}

func gather(n node, in []tensor) (tensor, error) {
	from, which := in[0], in[1]
	if !which.isInt() || len(which.ints) != which.size() {
		return from, errKind
	}
	at, err := axis(n.attributes["axis"].i, len(from.shape))
	if err != nil {
		return from, err
	}
	shape := slices.Concat(from.shape[:at], which.shape, from.shape[at+1:])
	outer, length, inner := product(from.shape[:at]), from.shape[at], product(from.shape[at+1:])
	out := tensor{shape: shape}
	if !from.isInt() || from.bytes != nil {
		out.floats = n.numbers(product(shape))
	}
	to := 0
	for o := range outer {
		for _, k := range which.ints {
			if k < 0 {
				k += int64(length)
			}
			if k < 0 || k >= int64(length) {
				return from, fmt.Errorf("takes entry %d of %d", k, length)
			}
			first := (o*length + int(k)) * inner
			switch {
			case from.bytes != nil:
				for i, b := range from.bytes[first : first+inner] {
					out.floats[to+i] = float32(b) * from.factors[k]
				}
			case from.isInt():
				out.ints = append(out.ints, from.ints[first:first+inner]...)
			default:
				copy(out.floats[to:], from.floats[first:first+inner])
			}
			to += inner
		}
	}
	return out, nil
}

func slice(_ node, in []tensor) (tensor, error) {
	t, from, to := in[0], in[1].ints, in[2].ints
	own := steps(t.shape)
	shape, by, start := slices.Clone(t.shape), slices.Clone(own), 0
	for i := range from {
		at, step := int64(i), int64(1)
		if len(in) > 3 && in[3].ints != nil {
			at = in[3].ints[i]
		}
		if len(in) > 4 && in[4].ints != nil {
			step = in[4].ints[i]
		}
		k, err := axis(at, len(shape))
		if err != nil {
			return t, err
		}
		if step < 1 {
			return t, fmt.Errorf("has a step of %d", step)
		}
		first := bounded(from[i], t.shape[k])
		shape[k] = (max(0, bounded(to[i], t.shape[k])-first) + int(step) - 1) / int(step)
		start, by[k] = start+first*own[k], own[k]*int(step)
	}
	return t.strided(shape, by, start), nil
}

//go:norace
func concat(n node, in []tensor) (tensor, error) {
	at, err := axis(n.attributes["axis"].i, len(in[0].shape))
	if err != nil {
		return in[0], err
	}
	out := tensor{shape: slices.Clone(in[0].shape)}
	out.shape[at] = 0
	for _, t := range in {
		if len(t.shape) != len(out.shape) || t.isInt() != in[0].isInt() {
			return in[0], errKind
		}
		out.shape[at] += t.shape[at]
	}
	for o := range product(out.shape[:at]) {
		for _, t := range in {
			n := product(t.shape[at:])
			if t.isInt() {
				out.ints = append(out.ints, t.ints[o*n:(o+1)*n]...)
			} else {
				out.floats = append(out.floats, t.floats[o*n:(o+1)*n]...)
			}
		}
	}
	_, err = out.shaped(out.shape)
	return out, err
}

// cumulate sums whole numbers along an axis. Some encoders count positions from the mask this way.
func cumulate(_ node, in []tensor) (tensor, error) {
	t := in[0]
	if !t.isInt() || len(in) < 2 {
		return t, errKind
	}
	at, err := axis(in[1].ints[0], len(t.shape))
	if err != nil {
		return t, err
	}
	out := tensor{shape: t.shape, ints: slices.Clone(t.ints)}
	step := steps(t.shape)[at]
	for i := range out.ints {
		if i/step%t.shape[at] > 0 {
			out.ints[i] += out.ints[i-step]
		}
	}
	return out, nil
}
