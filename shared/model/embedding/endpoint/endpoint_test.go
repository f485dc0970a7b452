package endpoint_test

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/model/embedding/endpoint"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func embedder(t *testing.T, s *llmtest.Server, opts endpoint.Options) *endpoint.Embedder {
	t.Helper()
	e, err := endpoint.New(t.Context(), s.Client(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestVectorsAreUnitInOrderAndBatched(t *testing.T) {
	s := llmtest.New(t, llmtest.WithDimension(32))
	e := embedder(t, s, endpoint.Options{Batch: 64})
	if e.Dimension() != 32 || e.Model() != "scripted/32" || s.Total() != 1 {
		t.Fatalf("dimension %d, model %s, %d calls", e.Dimension(), e.Model(), s.Total())
	}
	texts := []string{"", " \t\n"}
	for i := range 150 {
		texts = append(texts, "word"+strconv.Itoa(i)+" tea")
	}
	out, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != len(texts) || s.Total() != 1+3 {
		t.Errorf("%d vectors in %d calls, want %d in 3 and the probe", len(out), s.Total(), len(texts))
	}
	for i, v := range out {
		norm := 0.0
		for _, x := range v {
			norm += float64(x) * float64(x)
		}
		want := 1.0
		if i < 2 {
			want = 0
		}
		if len(v) != 32 || math.Abs(norm-want) > 1e-5 {
			t.Errorf("text %d: %d numbers, square norm %g, want %g", i, len(v), norm, want)
		}
		if i >= 2 && !parallel(v, llmtest.Vector(texts[i], 32)) {
			t.Errorf("text %d has another text's vector", i)
		}
	}
	for _, c := range s.Calls(llm.RoleEmbedding) {
		if slices.ContainsFunc(c.Input, func(s string) bool { return len(s) < 3 }) || c.Dimensions != 0 {
			t.Errorf("a blank text or a dimension was sent: %s", c.Raw)
		}
	}
}

// parallel reports whether b is a positive multiple of the unit vector a.
func parallel(a, b []float32) bool {
	var dot, norm float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		norm += float64(b[i]) * float64(b[i])
	}
	return math.Abs(dot-math.Sqrt(norm)) < 1e-4
}

func TestNothingIsSentForNothing(t *testing.T) {
	s := llmtest.New(t)
	e := embedder(t, s, endpoint.Options{Dimension: 64, Batch: 1})
	for _, texts := range [][]string{nil, {""}, {" ", "\n"}} {
		if out, err := e.Embed(t.Context(), texts); err != nil || len(out) != len(texts) {
			t.Errorf("%q: %v, %v", texts, out, err)
		}
	}
	if s.Total() != 0 {
		t.Errorf("%d calls, want none", s.Total())
	}
}

func TestBothEncodingsAreRead(t *testing.T) {
	s := llmtest.New(t, llmtest.WithDimension(4))
	e := embedder(t, s, endpoint.Options{Dimension: 4, Batch: 8})
	// 1, 0, 0, 0 as little-endian float32 numbers.
	s.Script(llm.RoleEmbedding, llmtest.Body(`{"data":[{"index":0,"embedding":"AACAPwAAAAAAAAAAAAAAAA=="}]}`))
	out, err := e.Embed(t.Context(), []string{"x"})
	if err != nil || !slices.Equal(out[0], []float32{1, 0, 0, 0}) {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestDimensionIsAskedForOnRequest(t *testing.T) {
	s := llmtest.New(t)
	e := embedder(t, s, endpoint.Options{Dimension: 16, RequestDimension: true, Batch: 8})
	if out, err := e.Embed(t.Context(), []string{"green tea"}); err != nil || len(out[0]) != 16 {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestUnusableVectorsAreErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		step llmtest.Step
		want error
	}{
		"other dimension": {llmtest.Body(`{"data":[{"index":0,"embedding":[1,0,0]},{"index":1,"embedding":[1,0]}]}`),
			endpoint.ErrDimension},
		"too few": {llmtest.Body(`{"data":[{"index":0,"embedding":[1,0]}]}`), llm.ErrMalformed},
		"too many": {
			llmtest.Body(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]}`),
			llm.ErrMalformed,
		},
		"same index": {llmtest.Body(`{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}`),
			llm.ErrMalformed},
		"index outside": {llmtest.Body(`{"data":[{"index":0,"embedding":[1,0]},{"index":2,"embedding":[1,0]}]}`),
			llm.ErrMalformed},
		"no numbers": {llmtest.Body(`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[1,0]}]}`), llm.ErrEmpty},
		"not base64": {llmtest.Body(`{"data":[{"index":0,"embedding":"!"},{"index":1,"embedding":"?"}]}`), llm.ErrEmpty},
		"no direction": {llmtest.Body(`{"data":[{"index":0,"embedding":[0,0]},{"index":1,"embedding":[1,0]}]}`),
			llm.ErrMalformed},
		"nothing": {llmtest.NoChoices(), llm.ErrMalformed},
		"null":    {llmtest.Body(`null`), llm.ErrEmpty},
		"401":     {llmtest.Status(401), llm.ErrUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			e := embedder(t, s, endpoint.Options{Dimension: 2, Batch: 8})
			s.Script(llm.RoleEmbedding, tc.step)
			out, err := e.Embed(t.Context(), []string{"a", "b"})
			if !errors.Is(err, tc.want) || out != nil {
				t.Errorf("got %v and %v, want %v", out, err, tc.want)
			}
		})
	}
}

func TestTransientFailuresAreRetried(t *testing.T) {
	s := llmtest.New(t)
	e := embedder(t, s, endpoint.Options{Dimension: 64, Batch: 8})
	s.Script(llm.RoleEmbedding, llmtest.RateLimited("0"), llmtest.Drop())
	if _, err := e.Embed(t.Context(), []string{"tea"}); err != nil || s.Total() != 3 {
		t.Errorf("error %v after %d calls", err, s.Total())
	}
	s.Script(llm.RoleEmbedding, llmtest.Status(503), llmtest.Status(503), llmtest.Status(503))
	if _, err := e.Embed(t.Context(), []string{"tea"}); !errors.Is(err, llm.ErrUnavailable) {
		t.Errorf("error is %v", err)
	}
}

func TestNewChecksItsInput(t *testing.T) {
	s := llmtest.New(t)
	c := s.Client(t)
	for name, opts := range map[string]endpoint.Options{
		"no batch": {}, "negative dimension": {Dimension: -1, Batch: 1},
		"request of no dimension": {RequestDimension: true, Batch: 1},
	} {
		if _, err := endpoint.New(t.Context(), c, opts); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	s.Script(llm.RoleEmbedding, llmtest.Status(404))
	if _, err := endpoint.New(t.Context(), c, endpoint.Options{Batch: 64}); !errors.Is(err, llm.ErrNotFound) {
		t.Errorf("a failing probe: %v", err)
	}
}
