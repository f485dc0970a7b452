package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// contents are the nodes and values in an ONNX file. See onnx.proto of github.com/onnx/onnx for the numbers of
// fields.
type contents struct {
	nodes     []node
	constants map[string]tensor
	inputs    []valueInfo
	outputs   []valueInfo
}

// valueInfo is an input or output. Dimensions that are not fixed are 0.
type valueInfo struct {
	name  string
	shape []int
}

type node struct {
	op, name        string
	inputs, outputs []string
	attributes      map[string]attribute
	// buffers are the buffers of the run, or nil.
	buffers *buffers
}

// attribute has its number, text, numbers or tensor, according to its kind.
type attribute struct {
	i      int64
	f      float32
	s      string
	ints   []int64
	tensor tensor
}

// field is one field of a message: a number, or bytes.
type field struct {
	number protowire.Number
	value  uint64
	bytes  []byte
}

var errWire = errors.New("is not an ONNX file")

// each calls do for each field of a message.
func each(b []byte, do func(field) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errWire
		}
		b = b[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			f.value = uint64(v)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return errWire
		}
		b = b[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

// varints appends a repeated number, which may be packed.
func (f field) varints(to []int64) ([]int64, error) {
	if f.bytes == nil {
		return append(to, int64(f.value)), nil //nolint:gosec // as protobuf writes negative numbers
	}
	for b := f.bytes; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, errWire
		}
		to, b = append(to, int64(v)), b[n:] //nolint:gosec // likewise
	}
	return to, nil
}

// readFile reads a file. An unsupported part fails only when a node needs it.
func readFile(file []byte) (*contents, error) {
	m := &contents{constants: map[string]tensor{}}
	err := each(file, func(f field) error {
		if f.number != 7 {
			return nil
		}
		return each(f.bytes, m.graph)
	})
	if err == nil && len(m.nodes) == 0 {
		err = errWire
	}
	return m, err
}

func (m *contents) graph(f field) error {
	switch f.number {
	case 1:
		n := node{attributes: map[string]attribute{}}
		if err := each(f.bytes, n.read); err != nil {
			return err
		}
		m.nodes = append(m.nodes, n)
	case 5:
		name, t, err := readTensor(f.bytes)
		if err != nil {
			return fmt.Errorf("weights %q: %w", name, err)
		}
		m.constants[name] = t
	case 11, 12:
		v, err := readValue(f.bytes)
		if err != nil {
			return err
		}
		if f.number == 11 {
			m.inputs = append(m.inputs, v)
		} else {
			m.outputs = append(m.outputs, v)
		}
	}
	return nil
}

func (n *node) read(f field) (err error) {
	switch f.number {
	case 1:
		n.inputs = append(n.inputs, string(f.bytes))
	case 2:
		n.outputs = append(n.outputs, string(f.bytes))
	case 3:
		n.name = string(f.bytes)
	case 4:
		n.op = string(f.bytes)
	case 5:
		var a attribute
		name := ""
		err = each(f.bytes, func(f field) (err error) {
			switch f.number {
			case 1:
				name = string(f.bytes)
			case 2:
				a.f = math.Float32frombits(uint32(f.value)) //nolint:gosec // four bytes
			case 3:
				a.i = int64(f.value) //nolint:gosec // as protobuf writes negative numbers
			case 4:
				a.s = string(f.bytes)
			case 5:
				_, a.tensor, err = readTensor(f.bytes)
			case 8:
				a.ints, err = f.varints(a.ints)
			}
			return err
		})
		n.attributes[name] = a
	}
	return err
}

// The kinds of numbers in a tensor of a file.
const (
	kindFloat  = 1
	kindInt8   = 3
	kindInt32  = 6
	kindInt64  = 7
	kindBool   = 9
	kindDouble = 11
)

func readTensor(b []byte) (name string, t tensor, err error) {
	var dims, ints []int64
	var raw, floats []byte
	kind, elsewhere := uint64(0), uint64(0)
	err = each(b, func(f field) (err error) {
		switch f.number {
		case 1:
			dims, err = f.varints(dims)
		case 2:
			kind = f.value
		case 4:
			if f.bytes == nil {
				floats = binary.LittleEndian.AppendUint32(floats, uint32(f.value)) //nolint:gosec // four bytes
			}
			floats = append(floats, f.bytes...)
		case 5, 7:
			ints, err = f.varints(ints)
		case 8:
			name = string(f.bytes)
		case 9:
			raw = f.bytes
		case 14:
			elsewhere = f.value
		}
		return err
	})
	if err != nil {
		return name, t, err
	}
	if elsewhere != 0 {
		return name, t, errors.New("are in another file, want one file with all of them")
	}
	for _, d := range dims {
		if d < 0 || d > math.MaxInt32 {
			return name, t, fmt.Errorf("have a dimension of %d", d)
		}
		t.shape = append(t.shape, int(d))
	}
	if len(raw) == 0 {
		raw = floats
	}
	switch kind {
	case kindFloat:
		t.floats = decode(raw, 4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) })
	case kindDouble:
		t.floats = decode(raw, 8, func(b []byte) float32 {
			return float32(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		})
	case kindInt64:
		t.ints = append(
			ints,
			decode(raw, 8, func(b []byte) int64 {
				return int64(binary.LittleEndian.Uint64(b))
			})...) //nolint:gosec // two's complement
	case kindInt32:
		t.ints = append(
			ints,
			decode(raw, 4, func(b []byte) int64 {
				return int64(int32(binary.LittleEndian.Uint32(b)))
			})...) //nolint:gosec // likewise
	case kindInt8:
		t.bytes = decode(raw, 1, func(b []byte) int8 { return int8(b[0]) }) //nolint:gosec // likewise
	case kindBool:
		t.ints = append(ints, decode(raw, 1, func(b []byte) int64 { return int64(b[0]) })...)
	default:
		return name, t, fmt.Errorf("have numbers of kind %d, want float32 (1), int8 (3), int32 (6), int64 (7), bool (9) or "+
			"float64 (11)", kind)
	}
	if got := len(t.floats) + len(t.ints) + len(t.bytes); got != t.size() {
		return name, t, fmt.Errorf("have %d numbers, want %d for a shape of %v", got, t.size(), t.shape)
	}
	return name, t, nil
}

func decode[T any](b []byte, width int, one func([]byte) T) []T {
	out := make([]T, len(b)/width)
	for i := range out {
		out[i] = one(b[i*width:])
	}
	return out
}

// readValue reads the name and the shape of an input or output.
func readValue(b []byte) (v valueInfo, err error) {
	within := func(number protowire.Number, then func(field) error) func(field) error {
		return func(f field) error {
			if f.number != number {
				return nil
			}
			return then(f)
		}
	}
	inside := func(number protowire.Number, then func(field) error) func(field) error {
		return within(number, func(f field) error { return each(f.bytes, then) })
	}
	dimension := within(1, func(f field) error {
		d := 0
		err := each(f.bytes, within(1, func(f field) error { d = int(f.value); return nil })) //nolint:gosec // bounded below
		v.shape = append(v.shape, max(0, min(d, math.MaxInt32)))
		return err
	})
	err = each(b, func(f field) error {
		if f.number == 1 {
			v.name = string(f.bytes)
		}
		return inside(2, inside(1, inside(2, dimension)))(f)
	})
	return v, err
}
