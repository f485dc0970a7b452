package onnx

import (
	"errors"
	"fmt"
	"math"

	"github.com/mneme-memory/mneme/shared/model/floatmatrix"
)

// attention is scaled dot-product attention of several heads, without a mask. Queries, keys and values have three
// axes: text, token, and the numbers of all heads in a row. They have the same number of heads.
//
//go:norace
func attention(n node, in []tensor) (tensor, error) {
	heads := int(n.attributes["q_num_heads"].i)
	for _, t := range in[:3] {
		if t.floats == nil || len(t.shape) != 3 || t.shape[0] != 1 || t.shape[1] < 1 || heads < 1 || t.shape[2] < heads ||
			t.shape[2]%heads != 0 {
			return t, fmt.Errorf("has shape %v for %d heads, want one text's tokens with as many numbers for each head", t.shape,
				heads)
		}
	}
	q, k, v := in[0], in[1], in[2]
	for _, t := range in[3:] {
		if t.shape != nil {
			return t, errors.New("has a mask or a past, want none")
		}
	}
	if int(n.attributes["kv_num_heads"].i) != heads || n.attributes["is_causal"].i != 0 || n.attributes["softcap"].f != 0 {
		return q, errors.New("has heads that share keys, is causal, or has a cap on scores, want none of these")
	}
	if q.shape[2] != k.shape[2] || k.shape[1] != v.shape[1] {
		return q, fmt.Errorf("has shapes %v, %v and %v, which do not go together", q.shape, k.shape, v.shape)
	}
	width, queries, keys := q.shape[2]/heads, q.shape[1], k.shape[1]
	scale := float32(1 / math.Sqrt(float64(width)))
	if a, ok := n.attributes["scale"]; ok {
		scale = a.f
	}
	out := tensor{shape: []int{1, queries, v.shape[2]}, floats: n.numbers(queries * v.shape[2])}
	turned := floatmatrix.Matrix{Numbers: n.numbers(width * keys), Rows: width, Columns: keys, Stride: keys}
	scores := floatmatrix.Matrix{Numbers: n.numbers(queries * keys), Rows: queries, Columns: keys, Stride: keys}
	for head := range heads {
		for t := range keys {
			for i, x := range k.floats[t*k.shape[2]+head*width:][:width] {
				turned.Numbers[i*keys+t] = x * scale
			}
		}
		floatmatrix.Multiply(scores, headOf(q, head, heads), turned)
		for t := range queries {
			row := scores.Numbers[t*keys : (t+1)*keys]
			softmaxRow(row, row)
		}
		floatmatrix.Multiply(headOf(out, head, heads), scores, headOf(v, head, heads))
	}
	n.buffers.release(turned.Numbers)
	n.buffers.release(scores.Numbers)
	return out, nil
}

// headOf are the numbers of a head.
func headOf(t tensor, head, heads int) floatmatrix.Matrix {
	width := t.shape[2] / heads
	return floatmatrix.Matrix{Numbers: t.floats[head*width:], Rows: t.shape[1], Columns: width, Stride: t.shape[2]}
}
