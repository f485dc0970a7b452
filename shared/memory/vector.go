package memory

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Vector is an embedding. Its JSON is base64 of little-endian float32, a quarter of the size of a list of numbers.
// Vectors are most of the data in a workflow's history.
type Vector []float32

// MarshalJSON encodes the vector; nil becomes null.
func (v Vector) MarshalJSON() ([]byte, error) {
	if v == nil {
		return []byte("null"), nil
	}
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(raw))
}

// UnmarshalJSON decodes the form of MarshalJSON.
func (v *Vector) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("vector: want base64 text: %w", err)
	}
	if text == nil {
		*v = nil
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(*text)
	if err != nil {
		return fmt.Errorf("vector: %w", err)
	}
	if len(raw)%4 != 0 {
		return errors.New("vector: length is not a multiple of four bytes")
	}
	out := make(Vector, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	*v = out
	return nil
}

// Cosine is the cosine of two vectors. It is 0 when one is zero or their lengths differ.
func Cosine(a, b Vector) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
