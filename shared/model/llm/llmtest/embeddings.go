package llmtest

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
	"net/http"
	"strings"
)

// Vector is the fake model's embedding of a text: a hashed bag of words. Texts with common words are near to each
// other. It is not normalised, like the vectors of some endpoints.
func Vector(text string, dimension int) []float32 {
	v := make([]float32, dimension)
	for _, w := range words(text) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(w)) // never fails
		v[h.Sum32()%uint32(dimension)] += 2
	}
	return v
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127)
	})
}

func writeEmbeddings(w http.ResponseWriter, c Call) {
	data := make([]any, len(c.Input))
	n := 0
	for i, text := range c.Input {
		v := Vector(text, c.dimension)
		var encoded any = v
		if c.EncodingFormat == "base64" {
			encoded = encodeBase64(v)
		}
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": encoded}
		n += len(text) / 4
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list", "model": c.Model, "data": data, "usage": map[string]any{"prompt_tokens": n, "total_tokens": n},
	})
}

// encodeBase64 writes little-endian float32 numbers, as OpenAI does.
func encodeBase64(v []float32) string {
	raw := make([]byte, 0, 4*len(v))
	for _, f := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
