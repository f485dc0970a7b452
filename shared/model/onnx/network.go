// Package onnx runs ONNX files of text encoders, in the process and without a library of another language (decision
// 14). It has the operators that such models use, and runs one text at a time.
package onnx

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Inputs that a model may have.
const (
	inputIDs   = "input_ids"
	inputMask  = "attention_mask"
	inputTypes = "token_type_ids"
)

// Network is a model from a file, ready to run. It is immutable, and safe for concurrent use.
type Network struct {
	nodes     []node
	constants map[string]tensor
	inputs    []string
	output    string
	// last lists for each node the values that no later node reads.
	last [][]string
	idle sync.Pool // of *buffers
}

// Parse reads an ONNX file. Its inputs must be tokens, and one of its outputs must be a vector for each token. An
// error names the fault of the file.
func Parse(file []byte) (*Network, error) {
	m, err := readFile(file)
	if err != nil {
		return nil, err
	}
	out := slices.IndexFunc(m.outputs, func(v valueInfo) bool { return len(v.shape) == 3 })
	if out < 0 {
		return nil, errors.New("has no output of three axes, want one with a vector for each token, such as " +
			"last_hidden_state")
	}
	return m.network(m.outputs[out].name)
}

// ParseOutputs reads an ONNX file as one network for each named output. The networks share the values that they use
// unchanged, such as vectors of words. Each network packs the matrices that it multiplies by.
func ParseOutputs(file []byte, names ...string) ([]*Network, error) {
	m, err := readFile(file)
	if err != nil {
		return nil, err
	}
	return m.parts(names...)
}

func (m *contents) parts(names ...string) (out []*Network, err error) {
	out = make([]*Network, len(names))
	for i, name := range names {
		if !slices.ContainsFunc(m.outputs, func(v valueInfo) bool { return v.name == name }) {
			return nil, fmt.Errorf("has no output %q", name)
		}
		if out[i], err = m.network(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// network returns the part of the file that an output needs.
func (m *contents) network(output string) (*Network, error) {
	n := &Network{constants: maps.Clone(m.constants), output: output}
	for _, in := range m.inputs {
		if _, ok := m.constants[in.name]; ok {
			continue // older files name their weights among the inputs
		}
		if !slices.Contains([]string{inputIDs, inputMask, inputTypes}, in.name) {
			return nil, fmt.Errorf("wants an input %q, want a model of %s, %s and %s", in.name, inputIDs, inputMask, inputTypes)
		}
		n.inputs = append(n.inputs, in.name)
	}
	if err := n.choose(m.nodes); err != nil {
		return nil, err
	}
	return n, n.fold()
}

// fold computes once every value that depends on no input, such as weights stored as bytes. It then drops the
// constants that no node reads.
func (n *Network) fold() error {
	left := n.nodes[:0]
	for _, one := range n.nodes {
		if slices.ContainsFunc(one.inputs, func(in string) bool { _, ok := n.constants[in]; return in != "" && !ok }) {
			left = append(left, one)
			continue
		}
		if one.op == "DequantizeLinear" && n.onlyRowsOf(one) {
			rows := n.constants[one.inputs[0]]
			rows.factors = n.constants[one.inputs[1]].floats
			n.constants[one.outputs[0]] = rows
			continue
		}
		out, err := n.compute(one, nil)
		if err != nil {
			return err
		}
		n.constants[one.outputs[0]] = out
	}
	n.nodes = left
	n.last = make([][]string, len(left))
	seen := map[string]bool{n.output: true}
	for i, one := range slices.Backward(left) {
		for _, in := range one.inputs {
			if !seen[in] {
				seen[in] = true
				n.last[i] = append(n.last[i], in)
			}
		}
	}
	taken, asFloats, asMatrix := map[string]bool{n.output: true}, map[string]bool{n.output: true}, map[string]bool{}
	for _, one := range n.nodes {
		for i, in := range one.inputs {
			taken[in] = true
			if one.op == "MatMul" && i == 1 {
				asMatrix[in] = true
			} else {
				asFloats[in] = true
			}
		}
	}
	maps.DeleteFunc(n.constants, func(name string, _ tensor) bool { return !taken[name] })
	for name, t := range n.constants {
		if !asMatrix[name] {
			t.matrix = nil
		} else if t.matrix != nil && !asFloats[name] {
			t.floats = nil // four fifths of its memory
		}
		n.constants[name] = t
	}
	return nil
}

// onlyRowsOf reports whether all readers of bytes with a factor for each row read only single rows, such as the
// vectors of words. Such bytes can stay bytes, which takes a quarter of the memory.
func (n *Network) onlyRowsOf(of node) bool {
	if a, ok := of.attributes["axis"]; !ok || a.i != 0 || len(of.inputs) != 2 || of.outputs[0] == n.output {
		return false
	}
	rows, factors := n.constants[of.inputs[0]], n.constants[of.inputs[1]].floats
	if rows.bytes == nil || len(rows.shape) == 0 || len(factors) != rows.shape[0] || len(factors) < 2 {
		return false
	}
	for _, one := range n.nodes {
		for i, in := range one.inputs {
			if in == of.outputs[0] && (one.op != "Gather" || i != 0 || one.attributes["axis"].i != 0) {
				return false
			}
		}
	}
	return true
}

// compute runs one node on values of other nodes, and on constants. A file may claim shapes that its weights do not
// have. That is an error that names the node.
func (n *Network) compute(one node, values map[string]tensor) (out tensor, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("node %s (%s): %v", one.name, one.op, r)
		}
	}()
	in := make([]tensor, len(one.inputs))
	for i, name := range one.inputs {
		if v, ok := values[name]; ok {
			in[i] = v
		} else {
			in[i] = n.constants[name]
		}
	}
	if out, err = operators[one.op](one, in); err != nil {
		err = fmt.Errorf("node %s (%s) %w", one.name, one.op, err)
	}
	return out, err
}

// choose keeps the nodes that the output needs, in order of their dependencies.
func (n *Network) choose(all []node) error {
	makes := map[string]int{}
	for i, one := range all {
		for _, out := range one.outputs {
			makes[out] = i
		}
	}
	done := map[int]bool{}
	var need func(name string, depth int) error
	need = func(name string, depth int) error {
		_, constant := n.constants[name]
		if name == "" || constant || slices.Contains(n.inputs, name) {
			return nil
		}
		i, ok := makes[name]
		if !ok || depth > len(all) {
			return fmt.Errorf("has no node with the output %q", name)
		}
		if done[i] {
			return nil
		}
		for _, in := range all[i].inputs {
			if err := need(in, depth+1); err != nil {
				return err
			}
		}
		if _, ok := operators[all[i].op]; !ok || all[i].outputs[0] == "" {
			return fmt.Errorf("has an operator %s, which is not supported", all[i].op)
		}
		done[i] = true
		n.nodes = append(n.nodes, all[i])
		return nil
	}
	return need(n.output, 0)
}

// Run returns the vectors of the tokens of a text, one after the other, each of length width. The argument types
// has the types of the tokens, or is nil for all 0.
func (n *Network) Run(ids, types []int64) (vectors []float32, width int, err error) {
	ones := make([]int64, len(ids))
	for i := range ones {
		ones[i] = 1
	}
	if types == nil {
		types = make([]int64, len(ids))
	}
	if len(types) != len(ids) {
		return nil, 0, fmt.Errorf("is given %d types for %d tokens", len(types), len(ids))
	}
	shape := []int{1, len(ids)}
	values := map[string]tensor{}
	for _, name := range n.inputs {
		values[name] = tensor{shape: shape, ints: map[string][]int64{inputIDs: ids, inputMask: ones, inputTypes: types}[name]}
	}
	b, ok := n.idle.Get().(*buffers)
	if !ok {
		b = &buffers{taken: map[*float32]int{}}
	}
	for i, one := range n.nodes {
		one.buffers = b
		made, err := n.compute(one, values)
		if err != nil {
			return nil, 0, err
		}
		values[one.outputs[0]] = made
		b.retain(made.floats)
		for _, name := range n.last[i] {
			b.release(values[name].floats)
		}
	}
	out, ok := values[n.output]
	if !ok {
		out = n.constants[n.output]
	}
	if s := out.shape; len(s) != 3 || s[0] != 1 || s[1] != len(ids) || out.floats == nil || s[2] == 0 {
		return nil, 0, fmt.Errorf("output %q has shape %v, want a vector for each of %d tokens", n.output, out.shape,
			len(ids))
	}
	vectors = slices.Clone(out.floats)
	b.release(out.floats)
	n.idle.Put(b)
	return vectors, out.shape[2], nil
}
