package onnx

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/viterin/vek/vek32"

	"github.com/mneme-memory/mneme/shared/model/bytematrix"
)

func floatsOf(shape []int, v ...float32) tensor { return tensor{shape: shape, floats: v} }

func intsOf(shape []int, v ...int64) tensor { return tensor{shape: shape, ints: v} }

func attr(name string, i int64, list ...int64) node {
	return node{attributes: map[string]attribute{name: {i: i, ints: list}}}
}

// Operators that the models of the other tests lack, or lack in some forms. The examples are similar to the ONNX
// specification.
func TestOperators(t *testing.T) {
	six := floatsOf([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	for name, tt := range map[string]struct {
		op   string
		node node
		in   []tensor
		want tensor
	}{
		"a column and a row": {
			"Sub", node{}, []tensor{intsOf([]int{2, 1}, 10, 20), intsOf([]int{3}, 1, 2, 3)},
			intsOf([]int{2, 3}, 9, 8, 7, 19, 18, 17),
		},
		"a scalar first":  {"Div", node{}, []tensor{floatsOf(nil, 6), floatsOf([]int{2}, 2, 3)}, floatsOf([]int{2}, 3, 2)},
		"whole quotients": {"Div", node{}, []tensor{intsOf([]int{2}, 7, -7), intsOf(nil, 2)}, intsOf([]int{2}, 3, -3)},
		"compared":        {"LessOrEqual", node{}, []tensor{six, floatsOf(nil, 2)}, intsOf([]int{2, 3}, 1, 1, 0, 0, 0, 0)},
		"turned round":    {"Not", node{}, []tensor{intsOf([]int{2}, 1, 0)}, intsOf([]int{2}, 0, 1)},
		"made true":       {"Cast", attr("to", kindBool), []tensor{floatsOf([]int{2}, 0.5, 0)}, intsOf([]int{2}, 1, 0)},
		"filled": {
			"ConstantOfShape", node{attributes: map[string]attribute{"value": {tensor: intsOf([]int{1}, 7)}}},
			[]tensor{intsOf([]int{2}, 1, 2)}, intsOf([]int{1, 2}, 7, 7),
		},
		"a range": {"Range", node{}, []tensor{intsOf(nil, 5), intsOf(nil, 0), intsOf(nil, -2)},
			intsOf([]int{3}, 5, 3, 1)},
		"a part of a shape": {"Shape", attr("start", -1), []tensor{six}, intsOf([]int{1}, 3)},
		"squeezed": {"Squeeze", attr("axes", 0, 0), []tensor{floatsOf([]int{1, 2, 1}, 1, 2)},
			floatsOf([]int{2, 1}, 1, 2)},
		"all squeezed": {"Squeeze", node{}, []tensor{floatsOf([]int{1, 2, 1}, 1, 2)}, floatsOf([]int{2}, 1, 2)},
		"unsqueezed": {"Unsqueeze", attr("axes", 0, -1, 0), []tensor{floatsOf([]int{2}, 1, 2)},
			floatsOf([]int{1, 2, 1}, 1, 2)},
		"expanded": {
			"Expand", node{}, []tensor{floatsOf([]int{2, 1}, 1, 2), intsOf([]int{3}, 1, 1, 2)},
			floatsOf([]int{1, 2, 2}, 1, 1, 2, 2),
		},
		"chosen": {
			"Where", node{}, []tensor{intsOf([]int{2}, 1, 0), floatsOf(nil, 9), floatsOf([]int{2}, 1, 2)},
			floatsOf([]int{2}, 9, 2),
		},
		"gathered columns": {"Gather", attr("axis", 1), []tensor{six, intsOf([]int{2}, -1, 0)},
			floatsOf([]int{2, 2}, 3, 1, 6, 4)},
		"every other one": {
			"Slice", node{}, []tensor{six, intsOf([]int{1}, -3), intsOf([]int{1}, 99), intsOf([]int{1}, 1), intsOf([]int{1}, 2)},
			floatsOf([]int{2, 2}, 1, 3, 4, 6),
		},
		"side by side": {"Concat", attr("axis", -1), []tensor{six, floatsOf([]int{2, 1}, 7, 8)},
			floatsOf([]int{2, 4}, 1, 2, 3, 7, 4, 5, 6, 8)},
		"summed up": {
			"CumSum", node{}, []tensor{intsOf([]int{2, 3}, 1, 1, 0, 1, 1, 1), intsOf(nil, 1)},
			intsOf([]int{2, 3}, 1, 2, 2, 1, 2, 3),
		},
		"means": {"ReduceMean", attr("keepdims", 0), []tensor{six, intsOf([]int{1}, 0)},
			floatsOf([]int{3}, 2.5, 3.5, 4.5)},
		"one sum":  {"ReduceSum", node{}, []tensor{six}, floatsOf([]int{1, 1}, 21)},
		"reversed": {"Transpose", node{}, []tensor{six}, floatsOf([]int{3, 2}, 1, 4, 2, 5, 3, 6)},
		"reshaped": {"Reshape", node{}, []tensor{six, intsOf([]int{3}, 0, -1, 1)},
			floatsOf([]int{2, 3, 1}, 1, 2, 3, 4, 5, 6)},
		"a product with a batch": {
			"MatMul", node{}, []tensor{floatsOf([]int{2, 1, 2}, 1, 2, 3, 4), floatsOf([]int{2, 2, 1}, 1, 1, 1, -1)},
			floatsOf([]int{2, 1, 1}, 3, -1),
		},
		"a product of matrices": {
			"Gemm", attr("transB", 1), []tensor{floatsOf([]int{1, 2}, 1, 2), floatsOf([]int{2, 2}, 3, 4, 5, 6),
				floatsOf([]int{2}, 1, 10)},
			floatsOf([]int{1, 2}, 12, 27),
		},
		"bytes with a factor for each column": {
			"DequantizeLinear", attr("axis", 1), []tensor{{shape: []int{2, 2}, bytes: []int8{1, -2, 3, 127}},
				floatsOf([]int{2}, 0.5, 2)},
			floatsOf([]int{2, 2}, 0.5, -4, 1.5, 254),
		},
		"bytes with a factor for each row": {
			"DequantizeLinear", attr("axis", 0), []tensor{{shape: []int{2, 2}, bytes: []int8{1, -2, 3, 127}},
				floatsOf([]int{2}, 0.5, 2)},
			floatsOf([]int{2, 2}, 0.5, -1, 6, 254),
		},
		"bytes with one factor": {
			"DequantizeLinear", node{}, []tensor{{shape: []int{2}, bytes: []int8{1, -2}}, floatsOf(nil, 0.5)},
			floatsOf([]int{2}, 0.5, -1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := operators[tt.op](tt.node, tt.in)
			if err != nil || !slices.Equal(got.shape, tt.want.shape) || !slices.Equal(got.floats, tt.want.floats) ||
				!slices.Equal(got.ints, tt.want.ints) {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

// bothWays runs a test with the processor's instructions, and without.
func bothWays(t *testing.T, test func(t *testing.T)) {
	t.Run("as it is", test)
	if before := wide; before {
		wide = false
		t.Cleanup(func() { wide = before })
		t.Run("without wide instructions", test)
	}
}

func TestGeluIsTheErrorFunctions(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		in := []float32{-1e30, -100, -20, 20, 100}
		for x := -7.0; x < 7; x += 0.0137 {
			in = append(in, float32(x))
		}
		used := &buffers{free: [][]float32{slices.Repeat([]float32{7}, len(in))}, taken: map[*float32]int{}}
		got, err := gelu(node{buffers: used}, []tensor{floatsOf([]int{len(in)}, in...)})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range in {
			want := 0.5 * float64(x) * (1 + math.Erf(float64(x)/math.Sqrt2))
			if off := math.Abs(float64(got.floats[i]) - want); !(off < 1e-6) && !(x < -6 && off < 1e-7*math.Abs(float64(x))) {
				t.Errorf("of %v it is %v, want %v", x, got.floats[i], want)
			}
		}
	})
}

func TestAProductOverNothingIsZero(t *testing.T) {
	used := &buffers{free: [][]float32{{7, 7, 7, 7}}, taken: map[*float32]int{}}
	got, err := matMul(node{buffers: used}, []tensor{{shape: []int{2, 0}, floats: []float32{}},
		{shape: []int{0, 2}, floats: []float32{}}})
	if err != nil || !slices.Equal(got.floats, []float32{0, 0, 0, 0}) {
		t.Errorf("got %v, %v", got.floats, err)
	}
}

func TestGatherTakesWholeNumbers(t *testing.T) {
	used := &buffers{free: [][]float32{{7, 7}}, taken: map[*float32]int{}}
	if got, err := gather(node{buffers: used}, []tensor{floatsOf([]int{2}, 1, 2), floatsOf([]int{2}, 0, 1)}); err == nil {
		t.Errorf("gathered %v by floats", got.floats)
	}
}

func TestSoftmaxIsThatOfTheDefinition(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, n := range []int{1, 15, 16, 17, 40} {
			row := make([]float32, n)
			for i := range row {
				row[i] = float32(i%7) * 3.3
			}
			row[0] = -1e30
			got, err := softmax(node{}, []tensor{floatsOf([]int{n}, row...)})
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, x := range row {
				sum += math.Exp(float64(x - slices.Max(row)))
			}
			for i, x := range row {
				if want := math.Exp(float64(x-slices.Max(row))) / sum; math.Abs(float64(got.floats[i])-want) > 1e-6 {
					t.Errorf("of %d number %d is %v, want %v", n, i, got.floats[i], want)
				}
			}
		}
	})
}

// A processor that multiplies by bytes rounds the input to 127 steps. A product is off by some hundredths at most.
func TestAProductWithBytesIsNearThatWithFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const rows, columns = 64, 96
	steps, factors, a := make([]int8, rows*columns), make([]float32, columns), make([]float32, 5*rows)
	for i := range steps {
		steps[i] = int8(r.IntN(255) - 127)
	}
	for i := range factors {
		factors[i] = 0.01
	}
	for i := range a {
		a[i] = float32(r.NormFloat64())
	}
	in := []tensor{{shape: []int{rows, columns}, bytes: steps}, floatsOf([]int{columns}, factors...)}
	weights, err := dequantize(attr("axis", 1), in)
	if err != nil {
		t.Fatal(err)
	}
	if bytematrix.Fits(rows, columns) != (weights.matrix != nil) {
		t.Fatalf("there is a matrix of bytes: %t", weights.matrix != nil)
	}
	got, err := matMul(node{}, []tensor{floatsOf([]int{5, rows}, a...), weights})
	if err != nil {
		t.Fatal(err)
	}
	weights.matrix = nil
	want, err := matMul(node{}, []tensor{floatsOf([]int{5, rows}, a...), weights})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.shape, want.shape) {
		t.Fatalf("shape %v, want %v", got.shape, want.shape)
	}
	length := math.Sqrt(float64(vek32.Dot(want.floats, want.floats)) / float64(len(want.floats)))
	for i, x := range want.floats {
		if off := math.Abs(float64(got.floats[i] - x)); off > 0.03*length {
			t.Errorf("number %d is %v, want %v", i, got.floats[i], x)
		}
	}
}

// Other readers of weights than products, such as lookups of rows, take the weights as floats.
func TestWeightsThatAreLookedUpKeepTheirFloats(t *testing.T) {
	const size = 32
	weights := tensor{shape: []int{size, size}, floats: make([]float32, size*size)}
	if bytematrix.Fits(size, size) {
		factors := make([]float32, size)
		weights.matrix = bytematrix.New(size, size, make([]int8, size*size), factors)
	}
	product := node{op: "MatMul", inputs: []string{"in", "both"}, outputs: []string{"a"}}
	for name, c := range map[string]struct {
		nodes          []node
		floats, matrix bool
	}{
		"multiplied only": {[]node{product}, weights.matrix == nil, weights.matrix != nil},
		"looked up only":  {[]node{{op: "Gather", inputs: []string{"both", "in"}, outputs: []string{"b"}}}, true, false},
		"multiplied and reshaped": {
			[]node{product, {op: "Reshape", inputs: []string{"both", "in"}, outputs: []string{"b"}}}, true,
			weights.matrix != nil,
		},
	} {
		n := Network{nodes: c.nodes, constants: map[string]tensor{"both": weights}, output: "a"}
		if err := n.fold(); err != nil {
			t.Fatal(err)
		}
		got := n.constants["both"]
		if (got.floats != nil) != c.floats || (got.matrix != nil) != c.matrix {
			t.Errorf("%s: there are floats: %t, a matrix: %t", name, got.floats != nil, got.matrix != nil)
		}
	}
	shaped, err := weights.shaped([]int{size * size})
	if err != nil || shaped.matrix != nil {
		t.Errorf("in another shape there is a matrix: %t, %v", shaped.matrix != nil, err)
	}
}

func TestWhatIsNoNumberStaysNone(t *testing.T) {
	nan := float32(math.NaN())
	bothWays(t, func(t *testing.T) {
		for _, row := range [][]float32{{5, nan, 3}, {nan, 1}, {3, 5, nan, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}} {
			for name, f := range map[string]operator{"softmax": softmax, "gelu": gelu} {
				got, err := f(node{}, []tensor{floatsOf([]int{len(row)}, row...)})
				if err != nil || !slices.ContainsFunc(got.floats, func(x float32) bool { return x != x }) {
					t.Errorf("of %v %s makes %v, %v", row, name, got.floats, err)
				}
			}
		}
	})
}

func TestNoFewNumbersOfAFileTakeAllMemory(t *testing.T) {
	huge := scalarsOf(1<<44, 1)
	for name, make := range map[string]func() (tensor, error){
		"a constant of a shape": func() (tensor, error) { return constantOfShape(node{}, []tensor{huge}) },
		"a negative shape":      func() (tensor, error) { return constantOfShape(node{}, []tensor{scalarsOf(-1)}) },
		"an expansion":          func() (tensor, error) { return expand(node{}, []tensor{scalarsOf(1), huge}) },
		"a range": func() (tensor, error) {
			return span(node{}, []tensor{scalarsOf(0), scalarsOf(1 << 62), scalarsOf(1)})
		},
	} {
		if _, err := make(); err == nil {
			t.Errorf("%s is made, want an error", name)
		}
	}
}
