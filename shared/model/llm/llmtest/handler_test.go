package llmtest_test

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func post(h http.Handler, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w
}

func TestHandlerServesAnyClient(t *testing.T) {
	h := llmtest.NewHandler(llmtest.WithDimension(8))
	for _, tc := range []struct {
		path, body string
		status     int
	}{
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, 200},
		{"/chat/completions", `{"model":"m","messages":[]}`, 200},
		{"/v1/embeddings", `{"model":"m","input":["tea"]}`, 200},
		{"/v1/chat/completions", `{`, 400},
		{"/v1/models", `{}`, 404},
	} {
		if w := post(h, tc.path, tc.body); w.Code != tc.status || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s: status %d, body %s", tc.path, tc.body, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/chat/completions", nil))
	if w.Code != 404 || h.Total() != 3 {
		t.Errorf("status %d, %d calls recorded, want 404 and 3", w.Code, h.Total())
	}
}

func TestEmbeddingsComeInBothEncodings(t *testing.T) {
	h := llmtest.NewHandler(llmtest.WithDimension(8))
	var floats struct {
		Data []struct {
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	var encoded struct {
		Data []struct {
			Embedding []byte `json:"embedding"`
		} `json:"data"`
	}
	read(t, post(h, "/v1/embeddings", `{"model":"m","input":["green tea"],"encoding_format":"float"}`), &floats)
	read(t, post(h, "/v1/embeddings", `{"model":"m","input":["green tea"],"encoding_format":"base64"}`), &encoded)
	raw := encoded.Data[0].Embedding
	for i, want := range floats.Data[0].Embedding {
		bits := uint32(raw[4*i]) | uint32(raw[4*i+1])<<8 | uint32(raw[4*i+2])<<16 | uint32(raw[4*i+3])<<24
		if got := math.Float32frombits(bits); got != want {
			t.Errorf("number %d is %g and %g", i, got, want)
		}
	}
	if len(raw) != 4*8 || bytes.Equal(raw, make([]byte, 32)) {
		t.Errorf("embedding is %v", raw)
	}
}

func read(t *testing.T, w *httptest.ResponseRecorder, out any) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
}

func TestRefusedFieldsAreNamed(t *testing.T) {
	h := llmtest.NewHandler(llmtest.WithRefusedFields("seed"))
	if w := post(h, "/v1/chat/completions", `{"seed":1}`); w.Code != 400 ||
		!strings.Contains(w.Body.String(), `"param":"seed"`) {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
	if w := post(h, "/v1/chat/completions", `{"messages":[]}`); w.Code != 200 {
		t.Errorf("status %d without the field", w.Code)
	}
}
