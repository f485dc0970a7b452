package embedding

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

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
