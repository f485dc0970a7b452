package encoder

import (
	"errors"
	"fmt"
	"slices"
)

// Inputs that a model may have.
const (
	inputIDs   = "input_ids"
	inputMask  = "attention_mask"
	inputTypes = "token_type_ids"
)

// network is a model of a file, ready to be run. It does not change, and is safe for concurrent use.
type network struct {
	nodes     []node
	constants map[string]tensor
	inputs    []string
	output    string
	dimension int
}

// newNetwork reads an ONNX file whose inputs are tokens and one of whose outputs is a vector for each.
func newNetwork(file []byte) (*network, error) {
	m, err := readONNX(file)
	if err != nil {
		return nil, err
	}
	n := &network{constants: m.constants}
	for _, in := range m.inputs {
		if _, ok := m.constants[in.name]; ok {
			continue // older files name their weights among the inputs
		}
		if !slices.Contains([]string{inputIDs, inputMask, inputTypes}, in.name) {
			return nil, fmt.Errorf("wants an input %q, want a model of %s, %s and %s", in.name, inputIDs, inputMask, inputTypes)
		}
		n.inputs = append(n.inputs, in.name)
	}
	out := slices.IndexFunc(m.outputs, func(v onnxValue) bool { return len(v.shape) == 3 })
	if out < 0 {
		return nil, errors.New("has no output of three axes, want one with a vector for each token, such as last_hidden_state")
	}
	n.output = m.outputs[out].name
	if err := n.choose(m.nodes); err != nil {
		return nil, err
	}
	n.turn()
	return n, nil
}

// turn lays the weights of layers on their side: gonum multiplies rows with rows faster than with columns.
func (n *network) turn() {
	uses := map[string]int{}
	for _, one := range n.nodes {
		for _, in := range one.inputs {
			uses[in]++
		}
	}
	for i, one := range n.nodes {
		if one.op != "MatMul" || len(one.inputs) < 2 { // which is an error when it is run
			continue
		}
		name := one.inputs[1]
		if weights := n.constants[name]; len(weights.shape) == 2 && !weights.isInt() && uses[name] == 1 {
			n.constants[name], n.nodes[i].op = weights.transposed([]int{1, 0}), opTurned
		}
	}
}

// choose keeps the nodes that the output needs, each after those whose outputs it takes.
func (n *network) choose(all []node) error {
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
			return fmt.Errorf("has nothing that makes %q", name)
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

// run returns the vectors of the tokens of a text, one after the other.
func (n *network) run(ids []int64) (out tensor, err error) {
	at := "the beginning"
	defer func() { // a file may claim shapes that its weights do not have; it is named and not believed
		if r := recover(); r != nil {
			err = fmt.Errorf("node %s: %v", at, r)
		}
	}()
	ones := make([]int64, len(ids))
	for i := range ones {
		ones[i] = 1
	}
	shape := []int{1, len(ids)}
	values := map[string]tensor{}
	for _, name := range n.inputs {
		values[name] = tensor{shape, nil, map[string][]int64{inputIDs: ids, inputMask: ones, inputTypes: make([]int64, len(ids))}[name]}
	}
	for _, one := range n.nodes {
		at = fmt.Sprintf("%s (%s)", one.name, one.op)
		in := make([]tensor, len(one.inputs))
		for i, name := range one.inputs {
			if v, ok := values[name]; ok {
				in[i] = v
			} else {
				in[i] = n.constants[name]
			}
		}
		if values[one.outputs[0]], err = operators[one.op](one, in); err != nil {
			return out, fmt.Errorf("node %s %w", at, err)
		}
	}
	out = values[n.output]
	if s := out.shape; len(s) != 3 || s[0] != 1 || s[1] != len(ids) || out.isInt() || s[2] == 0 {
		return out, fmt.Errorf("output %q has shape %v, want a vector for each of %d tokens", n.output, out.shape, len(ids))
	}
	return out, nil
}
