// Package endpoint embeds texts by any OpenAI-compatible /embeddings endpoint.
package endpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// ErrDimension says that the endpoint's vectors have the wrong length. Its model was changed, or the configuration
// is for another one. The operator must repair it. No data is at fault.
var ErrDimension = errors.New("embedding dimension differs from the one in use")

// Options are the settings of an embedder.
type Options struct {
	// Dimension is the length of the vectors. With 0 one call at start determines it.
	Dimension int `env:"DIMENSION" envDefault:"0" desc:"length of the vectors; 0 detects it by one call at start"`
	// RequestDimension asks the endpoint for vectors of Dimension numbers, for models that can shorten their vectors.
	RequestDimension bool `env:"REQUEST_DIMENSION" envDefault:"false" desc:"whether requests state the length of the vectors; not every model accepts it"`
	// Batch is how many texts are sent in one call.
	Batch int `envDefault:"64"`
}

// Validate reports every setting that is out of range.
func (o Options) Validate() error {
	return errors.Join(
		config.Require(o.Dimension >= 0 && o.Dimension <= 1<<16, "DIMENSION", o.Dimension, "0 to 65536"),
		config.Require(!o.RequestDimension || o.Dimension > 0, "REQUEST_DIMENSION", o.RequestDimension,
			"a DIMENSION to ask for"),
		config.Require(o.Batch >= 1 && o.Batch <= 2048, "BATCH", o.Batch, "1 to 2048"),
	)
}

// Embedder embeds by an endpoint. It is safe for concurrent use.
type Embedder struct {
	client    *llm.Client
	opts      Options
	dimension int
}

var _ embedding.Embedder = (*Embedder)(nil)

// New makes an embedder over a client. The client's limit per tenant bounds all of its calls, because the port has
// no tenant. So give the embedder a separate client. The caller closes the client. Unless the dimension is given,
// ctx bounds the call that determines it.
func New(ctx context.Context, client *llm.Client, opts Options) (*Embedder, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("embedding endpoint: %w", err)
	}
	if client.ModelFor(llm.RoleEmbedding) == "" {
		return nil, errors.New("embedding endpoint: no model is configured for role embedding")
	}
	e := &Embedder{client: client, opts: opts, dimension: opts.Dimension}
	if e.dimension > 0 {
		return e, nil
	}
	vectors, err := client.Embed(ctx, "", []string{"dimension"}, 0)
	if err != nil {
		return nil, fmt.Errorf("embedding endpoint: find out the dimension: %w", err)
	}
	e.dimension = len(vectors[0])
	return e, nil
}

// Dimension is the length of the vectors.
func (e *Embedder) Dimension() int { return e.dimension }

// Model is the model's name and the dimension. Models that shorten their vectors make different vectors for each
// dimension.
func (e *Embedder) Model() string {
	return fmt.Sprintf("%s/%d", e.client.ModelFor(llm.RoleEmbedding), e.dimension)
}

// Embed returns one unit vector per text, in order. It does not send blank texts and gives them the zero vector. It
// fails as a whole: with ErrDimension, or with an error of package llm.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var wanted []int
	for i, t := range texts {
		if strings.TrimSpace(t) == "" {
			out[i] = make([]float32, e.dimension)
			continue
		}
		wanted = append(wanted, i)
	}
	for batch := range slices.Chunk(wanted, e.opts.Batch) {
		if err := e.embed(ctx, texts, batch, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// embed fills in the vectors of one batch.
func (e *Embedder) embed(ctx context.Context, texts []string, batch []int, out [][]float32) error {
	send := make([]string, len(batch))
	for i, at := range batch {
		send[i] = texts[at]
	}
	ask := 0
	if e.opts.RequestDimension {
		ask = e.dimension
	}
	vectors, err := e.client.Embed(ctx, "", send, ask)
	if err != nil {
		return err
	}
	for i, v := range vectors {
		if len(v) != e.dimension {
			return fmt.Errorf("%w: %d numbers, want %d", ErrDimension, len(v), e.dimension)
		}
		if out[batch[i]], err = normalise(v); err != nil {
			return err
		}
	}
	return nil
}

// normalise scales a vector to length one. A vector without direction is useless for a text with content.
func normalise(v []float64) ([]float32, error) {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	norm := math.Sqrt(sum)
	if norm == 0 || math.IsNaN(norm) || math.IsInf(norm, 0) {
		return nil, fmt.Errorf("%w: a vector cannot be normalised", llm.ErrMalformed)
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / norm)
	}
	return out, nil
}
