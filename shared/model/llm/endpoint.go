package llm

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// endpoint is a server with OpenAI's API. The client uses two of its calls.
type endpoint struct {
	base *url.URL
	key  config.Secret
	http *http.Client
}

// fields are the fields of a request's JSON object.
type fields map[string]any

// post sends one request and reads the answer. A null answer gives nil. A status other than success is a
// *StatusError.
func post[T any](ctx context.Context, e endpoint, role Role, path string, in fields) (*T, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set(RoleHeader, string(role))
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key.Reveal())
	}
	res, err := e.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, readStatus(res, e.key)
	}
	data, err := io.ReadAll(http.MaxBytesReader(nil, res.Body, maxAnswerBytes))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	var out *T
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("the answer is not in OpenAI's form: %w", err)
	}
	return out, nil
}

// readStatus reads an answer that is no success.
func readStatus(res *http.Response, key config.Secret) *StatusError {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes)) // a partial body is enough to find the fault
	e := parseStatus(body, key)
	e.Status = res.StatusCode
	e.RetryAfter = retryAfter(res.Header, time.Now())
	return e
}

// tokens is a count that a server may omit. An unknown form counts as 0.
type tokens int64

// UnmarshalJSON implements json.Unmarshaler.
func (t *tokens) UnmarshalJSON(data []byte) error {
	var n float64
	if json.Unmarshal(data, &n) == nil {
		*t = tokens(n)
	}
	return nil
}

// usage is the cost of a call, as the server counts it.
type usage struct {
	Prompt     tokens `json:"prompt_tokens"`
	Completion tokens `json:"completion_tokens"`
}

// completion is the answer of a model.
type completion struct {
	Choices []struct {
		Message      answer `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage usage `json:"usage"`
}

// answer is the message of a choice. Content is a text, or a list of parts.
type answer struct {
	Content json.RawMessage `json:"content"`
	Refusal string          `json:"refusal"`
}

// vectors are the answer of an embedder.
type vectors struct {
	Data  []vector `json:"data"`
	Usage usage    `json:"usage"`
}

// vector is the vector of the text at the index.
type vector struct {
	Index     int     `json:"index"`
	Embedding numbers `json:"embedding"`
}

// numbers are a list, or base64 of 32-bit little-endian numbers. Some servers always answer with base64.
type numbers []float64

// UnmarshalJSON implements json.Unmarshaler. Invalid base64 gives no numbers.
func (n *numbers) UnmarshalJSON(data []byte) error {
	var encoded string
	if json.Unmarshal(data, &encoded) != nil {
		return json.Unmarshal(data, (*[]float64)(n))
	}
	*n = nil
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw)%4 != 0 {
		return nil // inOrder refuses a vector without numbers
	}
	for ; len(raw) > 0; raw = raw[4:] {
		*n = append(*n, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
	}
	return nil
}

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
