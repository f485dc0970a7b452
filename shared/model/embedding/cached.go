package embedding

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/maypok86/otter/v2"
)

// Cached returns e with a cache of the vectors of size texts in memory, about 4 bytes a dimension each. The key of
// a text is its SHA-256, so the cache contains no words of users. Each caller gets its own copy of a vector. A size
// of zero or less means no cache. A text that several callers miss at the same time is embedded by each of them.
func Cached(e Embedder, size int) Embedder {
	if size <= 0 {
		return e
	}
	vectors := otter.Must(&otter.Options[[sha256.Size]byte, []float32]{MaximumSize: size})
	return &cached{Embedder: e, vectors: vectors}
}

type cached struct {
	Embedder
	vectors *otter.Cache[[sha256.Size]byte, []float32]
}

// Embed calls the embedder once, for the distinct texts that are not cached.
func (c *cached) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	missing := map[[sha256.Size]byte][]int{}
	var keys [][sha256.Size]byte
	var ask []string
	for i, text := range texts {
		key := sha256.Sum256([]byte(text))
		if v, ok := c.vectors.GetIfPresent(key); ok {
			out[i] = slices.Clone(v)
			continue
		}
		if _, ok := missing[key]; !ok {
			keys, ask = append(keys, key), append(ask, text)
		}
		missing[key] = append(missing[key], i)
	}
	if len(ask) == 0 {
		return out, nil
	}
	fresh, err := c.Embedder.Embed(ctx, ask)
	if err != nil {
		return nil, err
	}
	if len(fresh) != len(ask) {
		return nil, fmt.Errorf("embed: got %d vectors for %d texts", len(fresh), len(ask))
	}
	for n, key := range keys {
		c.vectors.Set(key, fresh[n])
		for _, i := range missing[key] {
			out[i] = slices.Clone(fresh[n])
		}
	}
	return out, nil
}
