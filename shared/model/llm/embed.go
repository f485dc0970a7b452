package llm

import (
	"context"
	"fmt"
	"maps"

	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Embed returns the endpoint's vectors of texts unchanged, in order, one for each text. No text may be blank. The
// argument dimensions requests vectors of that length. 0 leaves the length to the model.
func (c *Client) Embed(ctx context.Context, tenant string, texts []string, dimensions int) ([][]float64, error) {
	model, err := c.model(RoleEmbedding)
	if err != nil {
		return nil, err
	}
	p := fields{"model": model, "input": texts, "encoding_format": "float"} // every server has this format
	if dimensions > 0 {
		p["dimensions"] = dimensions
	}
	for name, value := range c.cfg.BodyFor(RoleEmbedding) {
		p[name] = value
	}
	ctx, op := c.tel.start(ctx, genaiconv.OperationNameEmbeddings, model,
		Request{Role: RoleEmbedding, Scope: memory.Scope{Tenant: tenant}})
	ask := func(ctx context.Context, p fields) (*vectors, error) {
		res, err := post[vectors](ctx, c.endpoint, RoleEmbedding, "embeddings", p)
		if err != nil {
			return nil, err
		}
		if res != nil {
			op.used(ctx, int64(res.Usage.Prompt), 0)
			c.rate.use(tenant, int64(res.Usage.Prompt))
		}
		return res, nil
	}
	var out [][]float64
	attempts, err := c.try(ctx, RoleEmbedding, tenant, func(ctx context.Context) error {
		res, err := ask(ctx, p)
		if err != nil {
			return err
		}
		if res == nil {
			return &answerError{fmt.Errorf("%w: no vectors", ErrEmpty)}
		}
		out, err = inOrder(res.Data, len(texts))
		return err
	})
	err = c.whose(ctx, RoleEmbedding, tenant, err, func(ctx context.Context) error {
		plain := maps.Clone(p)
		plain["input"] = []string{nothing}
		_, err := ask(ctx, plain)
		return err
	})
	op.end(ctx, attempts, err)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", RoleEmbedding, err)
	}
	return out, nil
}

// inOrder sorts the vectors by their index. Each index must occur once.
func inOrder(data []vector, want int) ([][]float64, error) {
	if len(data) != want {
		return nil, &answerError{fmt.Errorf("%w: %d vectors, want %d", ErrMalformed, len(data), want)}
	}
	out := make([][]float64, want)
	for _, d := range data {
		i := d.Index
		if i < 0 || i >= want || out[i] != nil {
			return nil, &answerError{fmt.Errorf("%w: vector indices are not 0 to %d", ErrMalformed, want-1)}
		}
		if len(d.Embedding) == 0 {
			return nil, &answerError{fmt.Errorf("%w: a vector has no numbers", ErrEmpty)}
		}
		out[i] = d.Embedding
	}
	return out, nil
}
