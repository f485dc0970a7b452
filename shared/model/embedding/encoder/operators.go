package encoder

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// operator computes a node's first output. Inputs that a node leaves out have no shape and no numbers.
type operator func(n node, in []tensor) (tensor, error)

// operators are those that encoders of text are exported with.
var operators = map[string]operator{
	"Add": arithmetic(func(a, b float32) float32 { return a + b }, func(a, b int64) int64 { return a + b }),
	"Sub": arithmetic(func(a, b float32) float32 { return a - b }, func(a, b int64) int64 { return a - b }),
	"Mul": arithmetic(func(a, b float32) float32 { return a * b }, func(a, b int64) int64 { return a * b }),
	"Div": arithmetic(func(a, b float32) float32 { return a / b }, quotient),
	"Min": arithmetic(func(a, b float32) float32 { return min(a, b) }, func(a, b int64) int64 { return min(a, b) }),
	"Max": arithmetic(func(a, b float32) float32 { return max(a, b) }, func(a, b int64) int64 { return max(a, b) }),
	"Pow": arithmetic(power, func(a, b int64) int64 { return int64(math.Pow(float64(a), float64(b))) }),

	"Equal":          comparison(func(a, b float64) bool { return a == b }),
	"Less":           comparison(func(a, b float64) bool { return a < b }),
	"LessOrEqual":    comparison(func(a, b float64) bool { return a <= b }),
	"Greater":        comparison(func(a, b float64) bool { return a > b }),
	"GreaterOrEqual": comparison(func(a, b float64) bool { return a >= b }),
	"And":            comparison(func(a, b float64) bool { return a != 0 && b != 0 }),
	"Or":             comparison(func(a, b float64) bool { return a != 0 || b != 0 }),

	"Sqrt": unary(math.Sqrt), "Erf": unary(math.Erf), "Tanh": unary(math.Tanh), "Exp": unary(math.Exp), "Log": unary(math.Log),
	"Abs": unary(math.Abs), "Neg": unary(func(x float64) float64 { return -x }),
	"Reciprocal": unary(func(x float64) float64 { return 1 / x }), "Relu": unary(func(x float64) float64 { return max(0, x) }),
	"Sigmoid": unary(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }),
	"Gelu":    gelu, "Not": not,

	"Identity": func(_ node, in []tensor) (tensor, error) { return in[0], nil },
	"Dropout":  func(_ node, in []tensor) (tensor, error) { return in[0], nil },
	"Cast":     cast, "Constant": constant, "ConstantOfShape": constantOfShape, "Range": span,

	"Shape": shapeOf, "Reshape": reshape, "Unsqueeze": unsqueeze, "Squeeze": squeeze, "Transpose": transpose,
	"Expand": expand, "Where": where, "Gather": gather, "Slice": slice, "Concat": concat, "CumSum": cumulate,

	"ReduceMean": reduce(true), "ReduceSum": reduce(false), "Softmax": softmax, "LayerNormalization": layerNormalization,
	"MatMul": matMul, opTurned: turnedMatMul, "Gemm": gemm,
}

// opTurned is MatMul with a matrix of weights that network.turn laid on its side; no file has it.
const opTurned = "mneme.TurnedMatMul"

var errKind = errors.New("is given other kinds of numbers than it takes")

func quotient(a, b int64) int64 {
	if b == 0 {
		return 0 // what the standard leaves undefined
	}
	return a / b
}

func power(a, b float32) float32 {
	if b == 2 {
		return a * a
	}
	return float32(math.Pow(float64(a), float64(b)))
}

// arithmetic is an operator on two tensors that are brought to one shape.
func arithmetic(onFloats func(a, b float32) float32, onInts func(a, b int64) int64) operator {
	return func(_ node, in []tensor) (tensor, error) {
		a, b := in[0], in[1]
		shape, err := common(a.shape, b.shape)
		if err != nil || a.isInt() != b.isInt() {
			return a, kindErr(err)
		}
		a, b = a.spread(shape), b.aligned(shape)
		if a.isInt() {
			return tensor{shape: shape, ints: combine(a.ints, b.ints, onInts)}, nil
		}
		return tensor{shape: shape, floats: combine(a.floats, b.floats, onFloats)}, nil
	}
}

// kindErr is an error about shapes, or where there is none, about kinds.
func kindErr(err error) error {
	if err == nil {
		return errKind
	}
	return err
}

// aligned is spread, but leaves a tensor as it is that has only to be repeated as a whole, such as a bias: combine does that.
func (t tensor) aligned(shape []int) tensor {
	if n := len(shape) - len(t.shape); n >= 0 && slices.Equal(shape[n:], t.shape) {
		return t
	}
	return t.spread(shape)
}

// combine computes with pairs; the second slice is repeated as often as it takes. Nothing cannot be repeated: it panics, as other
// malformed operands do.
func combine[T, R any](a, b []T, f func(a, b T) R) []R {
	if len(a) > 0 && len(b) == 0 {
		panic("an operand is empty")
	}
	out := make([]R, len(a))
	for from := 0; from < len(a); from += len(b) {
		for i, y := range b {
			out[from+i] = f(a[from+i], y)
		}
	}
	return out
}

func comparison(holds func(a, b float64) bool) operator {
	return func(_ node, in []tensor) (tensor, error) {
		a, b := in[0], in[1]
		shape, err := common(a.shape, b.shape)
		if err != nil {
			return a, err
		}
		x, y := a.spread(shape).doubles(), b.spread(shape).doubles()
		return tensor{shape: shape, ints: combine(x, y, func(a, b float64) int64 {
			if holds(a, b) {
				return 1
			}
			return 0
		})}, nil
	}
}

// doubles are the numbers, whatever their kind.
func (t tensor) doubles() []float64 {
	out := make([]float64, t.size())
	for i := range out {
		if t.isInt() {
			out[i] = float64(t.ints[i])
		} else {
			out[i] = float64(t.floats[i])
		}
	}
	return out
}

func unary(f func(float64) float64) operator {
	return func(_ node, in []tensor) (tensor, error) {
		out := tensor{shape: in[0].shape}
		if in[0].isInt() {
			out.ints = make([]int64, len(in[0].ints))
			for i, x := range in[0].ints {
				out.ints[i] = int64(f(float64(x)))
			}
			return out, nil
		}
		out.floats = make([]float32, len(in[0].floats))
		for i, x := range in[0].floats {
			out.floats[i] = float32(f(float64(x)))
		}
		return out, nil
	}
}

func gelu(n node, in []tensor) (tensor, error) {
	f := func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }
	if n.attributes["approximate"].s == "tanh" {
		f = func(x float64) float64 { return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) }
	}
	return unary(f)(n, in)
}

func not(_ node, in []tensor) (tensor, error) {
	out := tensor{shape: in[0].shape, ints: make([]int64, len(in[0].ints))}
	for i, x := range in[0].ints {
		out.ints[i] = 1 - min(1, x*x)
	}
	return out, nil
}

func cast(n node, in []tensor) (tensor, error) {
	t, out := in[0], tensor{shape: in[0].shape}
	switch to := n.attributes["to"].i; to {
	case kindFloat, kindDouble:
		out.floats = make([]float32, t.size())
		for i, x := range t.doubles() {
			out.floats[i] = float32(x)
		}
	case kindInt32, kindInt64, kindBool:
		out.ints = make([]int64, t.size())
		for i, x := range t.doubles() {
			if out.ints[i] = int64(x); to == kindBool && x != 0 {
				out.ints[i] = 1
			}
		}
	default:
		return out, fmt.Errorf("makes numbers of kind %d, want float32 (1), int32 (6), int64 (7), bool (9) or float64 (11)", to)
	}
	return out, nil
}

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
	return value.picked(shape, make([]int, product(shape))), nil
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
	out := []int64{}
	for x := from; by > 0 && x < to || by < 0 && x > to; x += by {
		out = append(out, x)
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

// bounded is a place between 0 and a length, from the end where it is negative.
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

// axes are those of a node, which are an input or, in older files, an attribute.
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
	at, err := axis(n.attributes["axis"].i, len(from.shape))
	if err != nil {
		return from, err
	}
	shape := slices.Concat(from.shape[:at], which.shape, from.shape[at+1:])
	outer, length, inner := product(from.shape[:at]), from.shape[at], product(from.shape[at+1:])
	places := make([]int, 0, product(shape))
	for o := range outer {
		for _, k := range which.ints {
			if k < 0 {
				k += int64(length)
			}
			if k < 0 || k >= int64(length) {
				return from, fmt.Errorf("takes entry %d of %d", k, length)
			}
			for i := range inner {
				places = append(places, (o*length+int(k))*inner+i)
			}
		}
	}
	return from.picked(shape, places), nil
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
	return t.picked(shape, walk(shape, by, start)), nil
}

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

// cumulate sums whole numbers up along an axis, as encoders do that count positions from the mask.
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
		by := steps(full)
		for i, d := range full {
			if d == 1 {
				by[i] = 0
			}
		}
		sums := make([]float64, product(full))
		for i, p := range walk(t.shape, by, 0) {
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
	out := tensor{shape: t.shape, floats: slices.Clone(t.floats)}
	for row := range slices.Chunk(out.floats, t.shape[len(t.shape)-1]) {
		most, sum := slices.Max(row), 0.0
		for i, x := range row {
			e := math.Exp(float64(x - most))
			row[i] = float32(e)
			sum += e
		}
		for i := range row {
			row[i] = float32(float64(row[i]) / sum)
		}
	}
	return out, nil
}

func layerNormalization(n node, in []tensor) (tensor, error) {
	t, width := in[0], len(in[1].floats)
	if rank := len(t.shape); rank == 0 || width == 0 || t.shape[rank-1] != width {
		return t, fmt.Errorf("has a scale of %d for a shape of %v, want the last axis'", width, t.shape)
	}
	epsilon := 1e-5
	if a, ok := n.attributes["epsilon"]; ok {
		epsilon = float64(a.f)
	}
	out := tensor{shape: t.shape, floats: slices.Clone(t.floats)}
	for row := range slices.Chunk(out.floats, width) {
		mean, variance := 0.0, 0.0
		for _, x := range row {
			mean += float64(x) / float64(width)
		}
		for _, x := range row {
			variance += (float64(x) - mean) * (float64(x) - mean) / float64(width)
		}
		by := 1 / math.Sqrt(variance+epsilon)
		for i, x := range row {
			row[i] = float32((float64(x)-mean)*by) * in[1].floats[i]
			if len(in) > 2 && in[2].floats != nil {
				row[i] += in[2].floats[i]
			}
		}
	}
	return out, nil
}

// matrix is part of a tensor as gonum takes it.
func matrix(v []float32, rows, columns int) blas32.General {
	return blas32.General{Rows: rows, Cols: columns, Stride: max(1, columns), Data: v}
}

func turnedMatMul(_ node, in []tensor) (tensor, error) {
	a, b := in[0], in[1]
	last := len(a.shape) - 1
	if a.isInt() || last < 0 || a.shape[last] != b.shape[1] {
		return a, fmt.Errorf("has shapes %v and %v, which do not go together", a.shape, []int{b.shape[1], b.shape[0]})
	}
	n, inner, m := product(a.shape[:last]), b.shape[1], b.shape[0]
	out := tensor{shape: append(slices.Clone(a.shape[:last]), m), floats: make([]float32, n*m)}
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, matrix(a.floats, n, inner), matrix(b.floats, m, inner), 0, matrix(out.floats, n, m))
	return out, nil
}

func matMul(_ node, in []tensor) (tensor, error) {
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
		out := tensor{shape: append(slices.Clone(a.shape[:p+1]), m), floats: make([]float32, n*m)}
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, matrix(a.floats, n, inner), matrix(b.floats, inner, m), 0, matrix(out.floats, n, m))
		return out, nil
	}
	batch, err := common(a.shape[:p], b.shape[:q])
	if err != nil {
		return a, err
	}
	a, b = a.spread(slices.Concat(batch, a.shape[p:])), b.spread(slices.Concat(batch, b.shape[q:]))
	out := tensor{shape: append(slices.Clone(batch), n, m), floats: make([]float32, product(batch)*n*m)}
	for i := range product(batch) {
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, matrix(a.floats[i*n*inner:(i+1)*n*inner], n, inner),
			matrix(b.floats[i*inner*m:(i+1)*inner*m], inner, m), 0, matrix(out.floats[i*n*m:(i+1)*n*m], n, m))
	}
	return out, nil
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
	blas32.Scal(factor("alpha"), blas32.Vector{N: len(out.floats), Inc: 1, Data: out.floats})
	if len(in) < 3 || in[2].floats == nil {
		return out, nil
	}
	shape, err := common(out.shape, in[2].shape)
	if err != nil {
		return out, err
	}
	c := in[2].spread(shape)
	blas32.Axpy(
		factor("beta"),
		blas32.Vector{N: len(c.floats), Inc: 1, Data: c.floats},
		blas32.Vector{N: len(out.floats), Inc: 1, Data: out.floats},
	)
	return out, nil
}
