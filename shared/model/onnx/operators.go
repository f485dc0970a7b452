package onnx

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/viterin/vek/vek32"
)

// operator computes a node's first output. An omitted input has no shape and no numbers.
type operator func(n node, in []tensor) (tensor, error)

// operators are the operators that exports of text encoders use.
var operators = map[string]operator{
	"Add": arithmetic(vek32.Add_Into, func(a, b int64) int64 { return a + b }),
	"Sub": arithmetic(vek32.Sub_Into, func(a, b int64) int64 { return a - b }),
	"Mul": arithmetic(vek32.Mul_Into, func(a, b int64) int64 { return a * b }),
	"Div": arithmetic(vek32.Div_Into, quotient),
	"Min": arithmetic(vek32.Minimum_Into, func(a, b int64) int64 { return min(a, b) }),
	"Max": arithmetic(vek32.Maximum_Into, func(a, b int64) int64 { return max(a, b) }),
	"Pow": arithmetic(power, func(a, b int64) int64 { return int64(math.Pow(float64(a), float64(b))) }),

	"Equal":          comparison(func(a, b float64) bool { return a == b }),
	"Less":           comparison(func(a, b float64) bool { return a < b }),
	"LessOrEqual":    comparison(func(a, b float64) bool { return a <= b }),
	"Greater":        comparison(func(a, b float64) bool { return a > b }),
	"GreaterOrEqual": comparison(func(a, b float64) bool { return a >= b }),
	"And":            comparison(func(a, b float64) bool { return a != 0 && b != 0 }),
	"Or":             comparison(func(a, b float64) bool { return a != 0 || b != 0 }),

	"Sqrt": unary(math.Sqrt), "Erf": unary(math.Erf), "Tanh": unary(math.Tanh), "Exp": unary(math.Exp),
	"Log": unary(math.Log),
	"Abs": unary(math.Abs), "Neg": unary(func(x float64) float64 { return -x }),
	"Reciprocal": unary(func(x float64) float64 {
		return 1 / x
	}), "Relu": unary(func(x float64) float64 { return max(0, x) }),
	"Sigmoid": unary(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }),
	"Gelu":    gelu, "Not": not,

	"Identity": func(_ node, in []tensor) (tensor, error) { return in[0], nil },
	"Dropout":  func(_ node, in []tensor) (tensor, error) { return in[0], nil },
	"Cast":     cast, "Constant": constant, "ConstantOfShape": constantOfShape, "Range": span,

	"Shape": shapeOf, "Reshape": reshape, "Unsqueeze": unsqueeze, "Squeeze": squeeze, "Transpose": transpose,
	"Expand": expand, "Where": where, "Gather": gather, "Slice": slice, "Concat": concat, "CumSum": cumulate,

	"ReduceMean": reduce(true), "ReduceSum": reduce(false), "Softmax": softmax, "LayerNormalization": layerNormalization,
	"Attention": attention, "MatMul": matMul, "Gemm": gemm, "DequantizeLinear": dequantize,
}

var errKind = errors.New("has inputs with an unsupported kind of numbers")

func quotient(a, b int64) int64 {
	if b == 0 {
		return 0 // the standard leaves this undefined
	}
	return a / b
}

//go:norace
func power(out, a, b []float32) []float32 {
	for i, x := range a {
		if out[i] = x * x; b[i] != 2 {
			out[i] = float32(math.Pow(float64(x), float64(b[i])))
		}
	}
	return out
}

// leastRepeated is the minimum length of a second operand that is repeated as a whole. A shorter operand is first
// written several times.
const leastRepeated = 256

// arithmetic is an operator on two tensors after both get one shape.
func arithmetic(onFloats func(out, a, b []float32) []float32, onInts func(a, b int64) int64) operator {
	return func(of node, in []tensor) (tensor, error) {
		a, b := in[0], in[1]
		shape, err := common(a.shape, b.shape)
		if err != nil || a.isInt() != b.isInt() {
			return a, kindErr(err)
		}
		if a = a.spread(shape); a.isInt() {
			return tensor{shape: shape, ints: combine(a.ints, b.aligned(shape).ints, onInts)}, nil
		}
		row := b.aligned(shape).floats
		if len(a.floats) > 0 && len(row) == 0 {
			panic(noOperand)
		}
		if n := len(row); n > 0 && n < leastRepeated {
			row = slices.Repeat(row, leastRepeated/n+1)
		}
		out := tensor{shape: shape, floats: of.numbers(len(a.floats))}
		for from := 0; from < len(a.floats); from += len(row) {
			to := min(from+len(row), len(a.floats))
			onFloats(out.floats[from:to], a.floats[from:to], row[:to-from])
		}
		return out, nil
	}
}

// kindErr returns an error about shapes, or else an error about kinds.
func kindErr(err error) error {
	if err == nil {
		return errKind
	}
	return err
}

// aligned is spread, but it leaves a tensor unchanged that only needs a repeat as a whole, such as a bias.
func (t tensor) aligned(shape []int) tensor {
	if n := len(shape) - len(t.shape); n >= 0 && slices.Equal(shape[n:], t.shape) {
		return t
	}
	return t.spread(shape)
}

const noOperand = "an operand is empty"

// combine computes with pairs. It repeats the second slice as often as necessary. It panics on an empty second
// slice, as other malformed operands do.
//
//go:norace
func combine[T, R any](a, b []T, f func(a, b T) R) []R {
	if len(a) > 0 && len(b) == 0 {
		panic(noOperand)
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

// doubles returns the numbers of any kind.
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

//go:norace
func gelu(n node, in []tensor) (tensor, error) {
	if n.attributes["approximate"].s == "tanh" {
		return unary(func(x float64) float64 {
			return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		})(n, in)
	}
	t := in[0]
	if t.isInt() {
		return t, errKind
	}
	out := tensor{shape: t.shape, floats: n.numbers(len(t.floats))}
	if wide && len(t.floats) > 0 {
		gelu512(&out.floats[0], &t.floats[0], len(t.floats))
		return out, nil
	}
	for i, x := range t.floats {
		switch at := (x + geluEnd) * geluSteps; {
		case x >= geluEnd || x != x:
			out.floats[i] = x
		case at >= 0:
			k := int(at)
			y := geluTable[k]
			out.floats[i] = y + (geluTable[k+1]-y)*(at-float32(k))
		default:
			out.floats[i] = 0
		}
	}
	return out, nil
}

// The error function would take half of an encoder's time outside its products, so a table replaces it. The table
// has geluSteps entries to the unit. The line between two entries is less than 1e-6 off. From geluEnd on the
// function is its argument, and 0 from -geluEnd down.
const (
	geluEnd   = 6
	geluSteps = 1024
)

var geluTable = func() (out [2*geluEnd*geluSteps + 2]float32) {
	for i := range out {
		x := float64(i)/geluSteps - geluEnd
		out[i] = float32(0.5 * x * (1 + math.Erf(x/math.Sqrt2)))
	}
	return out
}()

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
		return out, fmt.Errorf("makes numbers of kind %d, want float32 (1), int32 (6), int64 (7), bool (9) or float64 (11)",
			to)
	}
	return out, nil
}
