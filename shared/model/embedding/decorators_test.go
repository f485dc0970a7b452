package embedding_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/model/embedding"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errUnavailable = errors.New("server unavailable after SECRETTEXT")

// counting gives a text the vector (its length, 0) and records its calls.
type counting struct {
	mu    sync.Mutex
	asked [][]string
	err   error
	short bool
}

func (c *counting) Dimension() int { return 2 }
func (c *counting) Model() string  { return "counting-v1" }

func (c *counting) Embed(_ context.Context, texts []string) ([][]float32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	c.asked = append(c.asked, slices.Clone(texts))
	if c.short {
		return nil, nil
	}
	var out [][]float32
	for _, text := range texts {
		out = append(out, []float32{float32(len(text)), 0})
	}
	return out, nil
}

func check(t *testing.T, e embedding.Embedder, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil || len(vectors) != len(texts) {
		t.Fatalf("got %d vectors, error %v; want %d", len(vectors), err, len(texts))
	}
	for i, v := range vectors {
		if v[0] != float32(len(texts[i])) {
			t.Fatalf("vector %d is %v, want that of %q", i, v, texts[i])
		}
	}
	return vectors
}

func wantAsked(t *testing.T, c *counting, want ...[]string) {
	t.Helper()
	if !slices.EqualFunc(c.asked, want, slices.Equal) {
		t.Errorf("embedder was asked %q, want %q", c.asked, want)
	}
}

func TestCachedAsksOnce(t *testing.T) {
	c := &counting{}
	e := embedding.Cached(c, 10)
	check(t, e, "a", "bb", "a")
	check(t, e, "bb", "ccc", "a")
	check(t, e, "a")
	wantAsked(t, c, []string{"a", "bb"}, []string{"ccc"})
	if e.Dimension() != 2 || e.Model() != "counting-v1" {
		t.Errorf("got %d dimensions of %s", e.Dimension(), e.Model())
	}
}

// The cache removes surplus texts a little later. It may briefly exceed its size.
func TestCachedIsBounded(t *testing.T) {
	c := &counting{}
	e := embedding.Cached(c, 2)
	deadline := time.Now().Add(10 * time.Second)
	for {
		before := len(c.asked)
		for n := range 100 {
			check(t, e, strings.Repeat("a", n+1))
		}
		again := len(c.asked) - before
		if before > 0 && again >= 80 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of 100 texts were embedded again, want nearly all", again)
		}
	}
}

func TestCachedWithoutSize(t *testing.T) {
	c := &counting{}
	e := embedding.Cached(c, 0)
	check(t, e, "a")
	check(t, e, "a")
	wantAsked(t, c, []string{"a"}, []string{"a"})
}

func TestCachedVectorsAreTheCallers(t *testing.T) {
	e := embedding.Cached(&counting{}, 10)
	for range 3 {
		check(t, e, "a", "a")[0][0] = 99
	}
}

func TestCachedKeepsNoErrors(t *testing.T) {
	c := &counting{err: errUnavailable}
	e := embedding.Cached(c, 10)
	if _, err := e.Embed(t.Context(), []string{"a"}); !errors.Is(err, errUnavailable) {
		t.Fatalf("got error %v", err)
	}
	c.err = nil
	check(t, e, "a")
}

func TestCachedRefusesMissingVectors(t *testing.T) {
	if _, err := embedding.Cached(&counting{short: true}, 10).Embed(t.Context(), []string{"a"}); err == nil {
		t.Fatal("a short answer was accepted")
	}
}

func TestCachedConcurrently(t *testing.T) {
	e := embedding.Cached(&counting{}, 4)
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			for i := range 100 {
				text := strings.Repeat("x", (i+n)%9)
				if v, err := e.Embed(t.Context(), []string{text}); err != nil || v[0][0] != float32(len(text)) {
					t.Errorf("got %v, error %v", v, err)
				}
			}
		})
	}
	group.Wait()
}

func TestTraced(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code codes.Code
	}{"success": {nil, codes.Unset}, "failure": {errUnavailable, codes.Error}} {
		t.Run(name, func(t *testing.T) {
			recorder := tracetest.NewSpanRecorder()
			provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
			e := embedding.Traced(&counting{err: c.err}, provider.Tracer("test"))
			if _, err := e.Embed(t.Context(), []string{"SECRETTEXT"}); !errors.Is(err, c.err) {
				t.Fatalf("got error %v, want %v", err, c.err)
			}
			spans := tracetest.SpanStubsFromReadOnlySpans(recorder.Ended())
			if len(spans) != 1 || spans[0].Name != "embeddings counting-v1" || spans[0].Status.Code != c.code {
				t.Fatalf("got spans %+v", spans)
			}
			shown := spans[0].Status.Description
			for _, attr := range spans[0].Attributes {
				shown += attr.Value.String()
			}
			if strings.Contains(shown, "SECRETTEXT") || len(spans[0].Events) > 0 {
				t.Errorf("the span shows the text: %q, %d events", shown, len(spans[0].Events))
			}
		})
	}
}
