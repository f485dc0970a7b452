package onnx

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func numbersOf(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

func TestAttentionIsThatOfTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const heads, width = 3, 4
	for _, size := range [][2]int{{1, 1}, {5, 5}, {9, 17}, {20, 20}} {
		queries, keys := size[0], size[1]
		q := floatsOf([]int{1, queries, heads * width}, numbersOf(r, queries*heads*width)...)
		k := floatsOf([]int{1, keys, heads * width}, numbersOf(r, keys*heads*width)...)
		v := floatsOf([]int{1, keys, heads * width}, numbersOf(r, keys*heads*width)...)
		of := node{attributes: map[string]attribute{"q_num_heads": {i: heads}, "kv_num_heads": {i: heads}, "scale": {f: 0.4}}}
		got, err := attention(of, []tensor{q, k, v})
		if err != nil || !slices.Equal(got.shape, q.shape) {
			t.Fatalf("shape %v, %v", got.shape, err)
		}
		for i := range queries {
			for h := range heads {
				at := func(x tensor, token, d int) float64 { return float64(x.floats[token*heads*width+h*width+d]) }
				var want [width]float64
				sum := 0.0
				for j := range keys {
					score := 0.0
					for d := range width {
						score += at(q, i, d) * at(k, j, d)
					}
					e := math.Exp(score * 0.4)
					sum += e
					for d := range width {
						want[d] += e * at(v, j, d)
					}
				}
				for d := range width {
					if off := math.Abs(at(got, i, d) - want[d]/sum); off > 1e-5 {
						t.Fatalf("%v: token %d, head %d: %v, want %v", size, i, h, at(got, i, d), want[d]/sum)
					}
				}
			}
		}
	}
}

func TestAttentionRefusesWhatItDoesNotCompute(t *testing.T) {
	x := floatsOf([]int{1, 2, 4}, 1, 2, 3, 4, 5, 6, 7, 8)
	heads := func(q, k int64) map[string]attribute {
		return map[string]attribute{"q_num_heads": {i: q}, "kv_num_heads": {i: k}}
	}
	causal := heads(2, 2)
	causal["is_causal"] = attribute{i: 1}
	for name, c := range map[string]struct {
		attributes map[string]attribute
		in         []tensor
	}{
		"a mask":                  {heads(2, 2), []tensor{x, x, x, x}},
		"shared keys":             {heads(2, 1), []tensor{x, x, x}},
		"causal":                  {causal, []tensor{x, x, x}},
		"heads that do not go in": {heads(3, 3), []tensor{x, x, x}},
		"two texts":               {heads(2, 2), []tensor{x, x, floatsOf([]int{2, 1, 4}, x.floats...)}},
	} {
		if _, err := attention(node{attributes: c.attributes}, c.in); err == nil {
			t.Errorf("%s: computed", name)
		}
	}
}

// Reused memory changes no value that a later node still reads.
func TestARunsMemoryIsUsedAgainOnlyWhenNothingTakesIt(t *testing.T) {
	nodes := []node{
		{op: "Cast", attributes: map[string]attribute{"to": {i: kindFloat}}, inputs: []string{inputIDs},
			outputs: []string{"a"}},
		{op: "Add", inputs: []string{"a", "one"}, outputs: []string{"b"}},
		{op: "Reshape", inputs: []string{"b", "row"}, outputs: []string{"c"}}, // the same numbers as b's
		{op: "Add", inputs: []string{"b", "one"}, outputs: []string{"d"}},     // the last read of b, but not of c
		{op: "Mul", inputs: []string{"d", "d"}, outputs: []string{"e"}},
		{op: "Add", inputs: []string{"c", "c"}, outputs: []string{"f"}},
		{op: "Add", inputs: []string{"e", "f"}, outputs: []string{"g"}},
		{op: "Unsqueeze", attributes: map[string]attribute{"axes": {ints: []int64{-1}}}, inputs: []string{"g"},
			outputs: []string{"out"}},
	}
	n := Network{
		nodes: nodes, inputs: []string{inputIDs}, output: "out",
		constants: map[string]tensor{"one": floatsOf([]int{1}, 1), "row": intsOf([]int{2}, 1, -1)},
	}
	if err := n.fold(); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the second run has the first one's memory
		for _, ids := range [][]int64{{1, 2, 3}, {7, 8}, {5, 0, 2, 9}} {
			got, width, err := n.Run(ids, nil)
			if err != nil || width != 1 {
				t.Fatalf("width %d, %v", width, err)
			}
			if b, ok := n.idle.Get().(*buffers); ok { // the race detector makes pools lose some
				if len(b.taken) != 0 || len(b.free) > 4 {
					t.Fatalf("the run leaves %+v, want at most what is taken at once", b)
				}
				n.idle.Put(b)
			}
			for i, x := range ids {
				if want := float32((x+2)*(x+2) + 2*(x+1)); got[i] != want {
					t.Errorf("of %v number %d is %v, want %v", ids, i, got[i], want)
				}
			}
		}
	}
}

// Vectors of words in bytes stay bytes.
func TestRowsOfBytesAreTakenAsTheyAre(t *testing.T) {
	n := Network{
		nodes: []node{
			{
				op: "DequantizeLinear", attributes: map[string]attribute{"axis": {i: 0}}, inputs: []string{"bytes", "factors"},
				outputs: []string{"table"},
			},
			{op: "Gather", inputs: []string{"table", inputIDs}, outputs: []string{"out"}},
		},
		inputs: []string{inputIDs}, output: "out",
		constants: map[string]tensor{
			"bytes": {shape: []int{3, 2}, bytes: []int8{1, -2, 3, 127, 5, 6}}, "factors": floatsOf([]int{3}, 0.5, 2, 1),
		},
	}
	if err := n.fold(); err != nil {
		t.Fatal(err)
	}
	if c := n.constants["table"]; c.floats != nil || c.bytes == nil {
		t.Errorf("the table is %+v, want bytes", c)
	}
	got, width, err := n.Run([]int64{1, 0, 1}, nil)
	if want := []float32{6, 254, 0.5, -1, 6, 254}; err != nil || width != 2 || !slices.Equal(got, want) {
		t.Errorf("got %v, %d, %v, want %v", got, width, err, want)
	}
}

func TestOutputsAreFoundByName(t *testing.T) {
	c := contents{
		constants: map[string]tensor{},
		nodes: []node{
			{op: "Add", inputs: []string{inputIDs, "one"}, outputs: []string{"more"}},
			{op: "Sub", inputs: []string{inputIDs, "one"}, outputs: []string{"less"}},
			{op: "Constant", attributes: map[string]attribute{"value_int": {i: 1}}, outputs: []string{"one"}},
		},
		inputs: []valueInfo{{name: inputIDs}}, outputs: []valueInfo{{name: "more"}, {name: "less"}},
	}
	for name, want := range map[string]int{"more": 2, "less": 2} {
		n, err := c.network(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(n.nodes) + len(n.constants); got != want {
			t.Errorf("%s takes %d nodes and constants, want its own one and the constant", name, got)
		}
	}
	if _, err := c.parts("more", "most"); err == nil {
		t.Error("found an output that is not there")
	}
}
