package laptop

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// modelHost is a server that lists models, and keeps the requests.
type modelHost struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
}

func hostModels(t *testing.T, status int, body string) *modelHost {
	t.Helper()
	h := &modelHost{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.requests = append(h.requests, r)
		w.Header().Set("Location", "http://192.0.2.1/")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(h.Close)
	return h
}

const listing = `{"object":"list","data":[{"id":"nomic-embed-text"},{"id":"llama3.2:3b"}]}`

func variables(all map[string]string) func(string) string {
	return func(name string) string { return all[name] }
}

func TestModelsAreFoundByAListingOnly(t *testing.T) {
	configured, local := hostModels(t, 200, listing), hostModels(t, 200, listing)
	strangers := []modelServer{{"Ollama", local.URL + "/v1"}}
	for _, other := range []*modelHost{hostModels(t, 200, "<html>"), hostModels(t, 404, listing),
		hostModels(t, 302, listing),
		hostModels(t, 200, `{"data":[]}`)} {
		strangers = append(strangers, modelServer{"llama.cpp", other.URL})
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	strangers = append(strangers, modelServer{"llama.cpp", closed.URL})
	found := endpoints(t.Context(), variables(map[string]string{openAIURL: configured.URL + "/v1/",
		openAIKey: "sk-secret"}), strangers)
	if len(found) != 2 || found[0].url != configured.URL+"/v1" || found[1].name != "Ollama" {
		t.Fatalf("found %+v, want the configured endpoint and Ollama", found)
	}
	if len(configured.requests) != 0 {
		t.Errorf("the configured endpoint got %d requests before anybody asked for it", len(configured.requests))
	}
	if len(local.requests) != 1 {
		t.Fatalf("the local server got %d requests, want one", len(local.requests))
	}
	if r := local.requests[0]; r.Method != http.MethodGet || r.URL.Path != "/v1/models" ||
		r.Header.Get("Authorization") != "" || r.ContentLength > 0 {
		t.Errorf("the local server got %s %s, %v", r.Method, r.URL, r.Header)
	}
	const want = "Ollama on this machine serves llama3.2:3b. To form memories with it: bin/mneme up --model llama3.2:3b"
	if hint := found[1].hint("bin/mneme up"); hint != want {
		t.Errorf("the hint is %q", hint)
	}
	if hint := found[0].hint("bin/mneme up"); strings.Contains(hint, "sk-secret") ||
		!strings.HasSuffix(hint, "bin/mneme up --model NAME") {
		t.Errorf("the hint is %q", hint)
	}
}

func TestTheEndpointOfAModel(t *testing.T) {
	local := hostModels(t, 200, listing)
	servers := []modelServer{{"Ollama", local.URL + "/v1"}}
	openAI := map[string]string{openAIKey: "sk-1"}
	elsewhere := map[string]string{openAIURL: "https://llm.example.test/v1", openAIKey: "sk-2"}
	for name, c := range map[string]struct {
		given   string
		environ map[string]string
		want    map[string]string
	}{
		"of a server here": {"llama3.2:3b", openAI,
			map[string]string{settingModel: "llama3.2:3b", settingURL: local.URL + "/v1"}},
		"of OpenAI": {"gpt-x", openAI, map[string]string{settingModel: "gpt-x", settingURL: openAIDefault,
			settingKey: "sk-1"}},
		"of another address": {"m", elsewhere, map[string]string{settingModel: "m", settingURL: "https://llm.example.test/v1",
			settingKey: "sk-2"}},
		"of a named address, without the key of another": {
			"user@m@http://127.0.0.1:1/v1/", elsewhere,
			map[string]string{settingModel: "user@m", settingURL: "http://127.0.0.1:1/v1"},
		},
		"of the named address of the key": {
			"m@https://llm.example.test/v1", elsewhere,
			map[string]string{settingModel: "m", settingURL: "https://llm.example.test/v1", settingKey: "sk-2"},
		},
		"of the configured endpoint": {
			"m", map[string]string{settingURL: "http://127.0.0.1:2/v1", settingKey: "own", openAIKey: "sk-1"},
			map[string]string{settingModel: "m", settingURL: "http://127.0.0.1:2/v1", settingKey: "own"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := modelSettings(t.Context(), c.given, variables(c.environ), servers)
			if err != nil || !maps.Equal(got, c.want) {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
	for given, want := range map[string]string{
		"": "NAME or NAME@URL", "@http://127.0.0.1:1": "NAME or NAME@URL", "m@http://": "NAME or NAME@URL",
		"gpt-x": "it has nomic-embed-text",
	} {
		if _, err := modelSettings(t.Context(), given, variables(nil), servers); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("--model %q: got %v, want %q", given, err, want)
		}
	}
	if _, err := modelSettings(t.Context(), "m", variables(nil), nil); err == nil ||
		!strings.Contains(err.Error(), "--model m@URL") {
		t.Errorf("without any endpoint: %v", err)
	}
}
