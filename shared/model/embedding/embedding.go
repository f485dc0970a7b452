// Package embedding is the port to text embeddings.
package embedding

import "context"

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
