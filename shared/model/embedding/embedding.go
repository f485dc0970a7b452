// Package embedding is the port to text embeddings.
package embedding

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/maypok86/otter/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Embedder turns texts into vectors. Implementations are safe for concurrent use.
type Embedder interface {
	// Embed returns one unit-length vector of Dimension numbers per text, in order. A text of white space gives the
	// zero vector. Errors are retryable unless package fault says otherwise.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Dimension is the length of the vectors.
	Dimension() int
	// Model is name and version. Vectors of different models are never compared.
	Model() string
}

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

// Attributes of the spans of Traced. The first three come from OpenTelemetry's generative AI conventions.
const (
	attrOperation = attribute.Key("gen_ai.operation.name")
	attrModel     = attribute.Key("gen_ai.request.model")
	attrDimension = attribute.Key("gen_ai.embeddings.dimension.count")
	attrTexts     = attribute.Key("mneme.embedding.texts")
)

// Traced returns e with one span per call, "embeddings <model>". It carries model, dimension and the number of
// texts, never a text.
func Traced(e Embedder, tracer trace.Tracer) Embedder {
	return &traced{Embedder: e, tracer: tracer}
}

type traced struct {
	Embedder
	tracer trace.Tracer
}

// Embed calls the embedder in a span.
func (t *traced) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, span := t.tracer.Start(ctx, "embeddings "+t.Model(), trace.WithAttributes(
		attrOperation.String("embeddings"), attrModel.String(t.Model()),
		attrDimension.Int(t.Dimension()), attrTexts.Int(len(texts))))
	defer span.End()
	vectors, err := t.Embedder.Embed(ctx, texts)
	if err != nil {
		// The span omits the error's text: a model server may repeat its input in it.
		span.SetStatus(codes.Error, "embed")
	}
	return vectors, err
}
