// Package onnxtest makes small sentence encoders of random weights, as files in the layout of sentence-transformers.
package onnxtest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protowire"
)

// Shape has the sizes of a BERT model.
type Shape struct {
	// Vocabulary is the number of tokens. Positions is the maximum number of tokens of a text.
	Vocabulary, Positions int
	// There are Layers layers. A token has Width numbers. Each layer has Heads heads and Inner inner numbers.
	Layers, Width, Heads, Inner int
	// Decomposed has normalisation in single steps, as older exports do.
	Decomposed bool
}

// Tiny is the smallest model that uses every feature. MiniLM has the size of all-MiniLM-L6-v2.
var (
	Tiny   = Shape{Vocabulary: len(Words), Positions: 12, Layers: 2, Width: 8, Heads: 2, Inner: 16}
	MiniLM = Shape{Vocabulary: 30522, Positions: 512, Layers: 6, Width: 384, Heads: 12, Inner: 1536}
)

// Words are the tokens of the vocabulary, in order. Further tokens of a larger vocabulary are in no text.
var Words = []string{
	"[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "green", "drink", "##s", "ana", "the", "cafe", "like", "##ing", ",", ".",
	"茶", "a", "b", "c",
}

// Model is an ONNX file with the weights in it, in the order in which they are used.
type Model struct {
	Shape   Shape
	File    []byte
	Weights [][]float32
}

// Write writes a model of random weights to a folder, with its tokenizer and settings.
func Write(folder string, s Shape, seed uint64) (Model, error) {
	m := New(s, seed)
	vocabulary := map[string]int{}
	for i, w := range Words {
		vocabulary[w] = i
	}
	special := func(name string) any { return map[string]any{"SpecialToken": map[string]any{"id": name, "type_id": 0}} }
	files := map[string]any{
		"config.json":               map[string]any{"max_position_embeddings": s.Positions, "hidden_size": s.Width},
		"sentence_bert_config.json": map[string]any{"max_seq_length": s.Positions - 2},
		"1_Pooling/config.json": map[string]any{
			"word_embedding_dimension": s.Width,
			"pooling_mode_mean_tokens": true,
			"pooling_mode_cls_token":   false,
		},
		"tokenizer.json": map[string]any{
			"version": "1.0",
			"normalizer": map[string]any{
				"type":                 "BertNormalizer",
				"clean_text":           true,
				"handle_chinese_chars": true,
				"strip_accents":        nil,
				"lowercase":            true,
			},
			"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
			"post_processor": map[string]any{
				"type":   "TemplateProcessing",
				"single": []any{special("[CLS]"), map[string]any{"Sequence": map[string]any{"id": "A"}}, special("[SEP]")},
				"special_tokens": map[string]any{"[CLS]": map[string]any{"ids": []int{2}},
					"[SEP]": map[string]any{"ids": []int{3}}},
			},
			"model": map[string]any{
				"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
				"vocab": vocabulary,
			},
		},
	}
	if err := os.MkdirAll(filepath.Join(folder, "1_Pooling"), 0o755); err != nil {
		return m, err
	}
	for name, content := range files {
		data, err := json.Marshal(content)
		if err != nil {
			return m, err
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), data, 0o600); err != nil {
			return m, err
		}
	}
	return m, os.WriteFile(filepath.Join(folder, "model.onnx"), m.File, 0o600)
}

// builder writes the graph of a model. Field numbers come from onnx.proto.
type builder struct {
	Model
	nodes, constants []byte
	random           *rand.Rand
	names            int
}

const (
	kindFloat = 1
	kindInt64 = 7
)

func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

func number(b []byte, field protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType),
		uint64(n)) //nolint:gosec // as protobuf does
}

func (b *builder) name() string {
	b.names++
	return fmt.Sprintf("value_%d", b.names)
}

func (b *builder) constant(kind int64, raw []byte, shape ...int) string {
	name := b.name()
	var t []byte
	for _, d := range shape {
		t = number(t, 1, int64(d))
	}
	t = message(text(number(t, 2, kind), 8, name), 9, raw)
	b.constants = message(b.constants, 5, t)
	return name
}

func (b *builder) float(v float32) string {
	return b.constant(kindFloat, binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
}

func (b *builder) ints(v ...int64) string {
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(x)) //nolint:gosec // two's complement
	}
	return b.constant(kindInt64, raw, len(v))
}

// weights draws numbers around a mean.
func (b *builder) weights(mean, spread float64, shape ...int) string {
	n := 1
	for _, d := range shape {
		n *= d
	}
	values, raw := make([]float32, n), make([]byte, 0, 4*n)
	for i := range values {
		values[i] = float32(mean + spread*b.random.NormFloat64())
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(values[i]))
	}
	b.Weights = append(b.Weights, values)
	return b.constant(kindFloat, raw, shape...)
}

// attributes are numbers, or lists of them, by name.
type attributes map[string][]int64

// node adds a node and returns the name of its output. An attribute is a list if it has several numbers, or if its
// name ends in "s".
func (b *builder) node(op string, with attributes, inputs ...string) string {
	out := b.name()
	b.named(out, op, with, inputs...)
	return out
}

func (b *builder) named(out, op string, with attributes, inputs ...string) {
	var n []byte
	for _, in := range inputs {
		n = text(n, 1, in)
	}
	n = text(text(text(n, 2, out), 3, "/"+out), 4, op)
	for name, values := range with {
		a := text(nil, 1, name)
		if name == "perm" || name == "axes" {
			for _, v := range values {
				a = number(a, 8, v)
			}
			a = number(a, 20, 7)
		} else {
			a = number(number(a, 3, values[0]), 20, 2)
		}
		n = message(n, 5, a)
	}
	b.nodes = message(b.nodes, 1, n)
}

// declared is an input or output. Dimensions are numbers, or names where they vary.
func declared(name string, kind int64, dimensions ...any) []byte {
	var shape []byte
	for _, d := range dimensions {
		var one []byte
		switch d := d.(type) {
		case int:
			one = number(nil, 1, int64(d))
		case string:
			one = text(nil, 2, d)
		}
		shape = message(shape, 1, one)
	}
	return message(text(nil, 1, name), 2, message(nil, 1, message(number(nil, 1, kind), 2, shape)))
}

func (b *builder) linear(x string, in, out int) string {
	product := b.node("MatMul", nil, x, b.weights(0, 1/math.Sqrt(float64(in)), in, out))
	return b.node("Add", nil, product, b.weights(0, 0.1, out))
}

func (b *builder) normalised(x string) string {
	d := b.Shape.Width
	scale, shift := b.weights(1, 0.1, d), b.weights(0, 0.1, d)
	if !b.Shape.Decomposed {
		return b.node("LayerNormalization", attributes{"axis": {-1}}, x, scale, shift)
	}
	last := attributes{"axes": {-1}}
	apart := b.node("Sub", nil, x, b.node("ReduceMean", last, x))
	variance := b.node("ReduceMean", last, b.node("Pow", nil, apart, b.float(2)))
	x = b.node("Div", nil, apart, b.node("Sqrt", nil, b.node("Add", nil, variance, b.float(1e-5))))
	return b.node("Add", nil, b.node("Mul", nil, x, scale), shift)
}

// New makes a model of random weights with the graph of a BERT encoder.
func New(s Shape, seed uint64) Model {
	b := &builder{Model: Model{Shape: s}, random: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // repeatable on purpose
	x := b.embedded()
	mask := b.node("Cast", attributes{"to": {kindFloat}}, b.node("Unsqueeze", nil, "attention_mask", b.ints(1, 2)))
	mask = b.node("Mul", nil, b.node("Sub", nil, b.float(1), mask), b.float(-1e9))
	for range s.Layers {
		x = b.layer(x, mask)
	}
	b.named("last_hidden_state", "Identity", nil, x)
	graph := append(text(append([]byte(nil), b.nodes...), 2, "made"), b.constants...)
	for _, name := range []string{"input_ids", "attention_mask", "token_type_ids"} {
		graph = message(graph, 11, declared(name, kindInt64, "batch", "length"))
	}
	graph = message(graph, 12, declared("last_hidden_state", kindFloat, "batch", "length", s.Width))
	b.File = message(message(number(nil, 1, 8), 7, graph), 8, number(nil, 2, 17))
	return b.Model
}

// embedded adds the vectors of tokens, of their positions and of their types.
func (b *builder) embedded() string {
	s := b.Shape
	words, positions, types := b.weights(
		0,
		0.5,
		s.Vocabulary,
		s.Width,
	), b.weights(
		0,
		0.5,
		1,
		s.Positions,
		s.Width,
	), b.weights(
		0,
		0.1,
		2,
		s.Width,
	)
	length := b.node("Slice", nil, b.node("Shape", nil, "input_ids"), b.ints(1), b.ints(2), b.ints(0))
	first := attributes{"axis": {0}}
	x := b.node("Add", nil, b.node("Gather", first, words, "input_ids"), b.node("Gather", first, types, "token_type_ids"))
	x = b.node("Add", nil, x, b.node("Slice", nil, positions, b.ints(0), length, b.ints(1)))
	return b.normalised(x)
}

func (b *builder) layer(x, mask string) string {
	d, heads := b.Shape.Width, b.Shape.Heads
	split := func(x string, order ...int64) string {
		x = b.node("Reshape", nil, x, b.ints(0, -1, int64(heads), int64(d/heads)))
		return b.node("Transpose", attributes{"perm": order}, x)
	}
	q, k, v := split(b.linear(x, d, d), 0, 2, 1, 3), split(b.linear(x, d, d), 0, 2, 3, 1),
		split(b.linear(x, d, d), 0, 2, 1, 3)
	weights := b.node("Div", nil, b.node("MatMul", nil, q, k), b.float(float32(math.Sqrt(float64(d/heads)))))
	weights = b.node("Softmax", attributes{"axis": {-1}}, b.node("Add", nil, weights, mask))
	seen := b.node("Transpose", attributes{"perm": {0, 2, 1, 3}}, b.node("MatMul", nil, weights, v))
	seen = b.linear(b.node("Reshape", nil, seen, b.ints(0, -1, int64(d))), d, d)
	x = b.normalised(b.node("Add", nil, seen, x))
	inner := b.linear(x, d, b.Shape.Inner)
	gate := b.node("Add", nil, b.node("Erf", nil, b.node("Div", nil, inner, b.float(math.Sqrt2))), b.float(1))
	inner = b.node("Mul", nil, b.node("Mul", nil, inner, gate), b.float(0.5))
	return b.normalised(b.node("Add", nil, b.linear(inner, b.Shape.Inner, d), x))
}
