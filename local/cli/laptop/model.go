package laptop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/local/command"
)

// Settings of the services' model.
const (
	settingModel = "MNEME_LLM_MODEL"
	settingURL   = "MNEME_LLM_BASE_URL"
	settingKey   = "MNEME_LLM_API_KEY"
)

// Variables of OpenAI's clients, and the default of the URL.
const (
	openAIURL     = "OPENAI_BASE_URL"
	openAIKey     = "OPENAI_API_KEY"
	openAIDefault = "https://api.openai.com/v1"
)

const (
	// probeModels limits one listing of models.
	probeModels = 500 * time.Millisecond
	// maxListing limits its size, in bytes.
	maxListing = 1 << 20
)

// modelServer is a program on this machine that serves models at a usual address.
type modelServer struct{ name, url string }

var modelServers = []modelServer{
	{"Ollama", "http://127.0.0.1:11434/v1"},
	{"llama.cpp", "http://127.0.0.1:8080/v1"},
}

// endpoint is a place with models.
type endpoint struct {
	name   string // for messages
	url    string
	key    string   // empty without one
	models []string // empty if unknown
}

// endpoints returns the endpoints with models: first from the environment, then servers on this machine. It asks the
// servers for a list of their models, and sends nothing to an endpoint of the environment.
func endpoints(ctx context.Context, environ func(string) string, local []modelServer) []endpoint {
	var out []endpoint
	if at, key := environ(openAIURL), environ(openAIKey); at != "" || key != "" {
		name := openAIKey
		if at != "" {
			name = openAIURL
		}
		out = append(out, endpoint{name: name, url: strings.TrimRight(cmp.Or(at, openAIDefault), "/"), key: key})
	}
	for _, server := range local {
		if models := listModels(ctx, server.url); len(models) > 0 {
			out = append(out, endpoint{name: server.name, url: server.url, models: models})
		}
	}
	return out
}

// listModels returns the models of a server on loopback, and none if no such server answers. The request has no key,
// and follows no redirect to another machine.
func listModels(ctx context.Context, base string) []string {
	ctx, cancel := context.WithTimeout(ctx, probeModels)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/models", nil)
	if err != nil {
		return nil
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true}, // without a proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	var listing struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if res.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(res.Body, maxListing)).Decode(&listing) != nil {
		return nil
	}
	var models []string
	for _, m := range listing.Data {
		if m.ID != "" {
			models = append(models, m.ID)
		}
	}
	return models
}

// chat returns the first model that does not seem to be an embedding model, or else the first.
func (e endpoint) chat() string {
	for _, m := range e.models {
		if !strings.Contains(strings.ToLower(m), "embed") {
			return m
		}
	}
	if len(e.models) > 0 {
		return e.models[0]
	}
	return ""
}

// hint names the one command that uses the endpoint, after an earlier part of the command line such as "mneme up".
func (e endpoint) hint(command string) string {
	if model := e.chat(); model != "" {
		return fmt.Sprintf("%s on this machine serves %s. To form memories with it: %s --model %s", e.name, model, command,
			model)
	}
	return fmt.Sprintf("%s is set. To form memories with a model of %s: %s --model NAME", e.name, e.url, command)
}

// modelSettings returns the services' settings for the value of --model: NAME or NAME@URL. A name alone means the
// configured endpoint, else a server on this machine that has the model, else the endpoint of OpenAI's variables. The
// key of OpenAI's variables goes to their endpoint only.
func modelSettings(
	ctx context.Context, given string, environ func(string) string, local []modelServer,
) (map[string]string, error) {
	name, at := given, ""
	if i := strings.LastIndex(given, "@http"); i >= 0 {
		name, at = given[:i], strings.TrimRight(given[i+1:], "/")
	}
	if u, err := url.Parse(at); name == "" || err != nil || at != "" && u.Host == "" {
		return nil, command.Usage(fmt.Errorf("--model is %q, want NAME or NAME@URL such as llama3@http://127.0.0.1:8000/v1",
			given))
	}
	if at == "" {
		at = environ(settingURL)
	}
	key := environ(settingKey)
	var found []endpoint
	if at == "" {
		found = endpoints(ctx, environ, local)
		slices.SortStableFunc(found, func(a, b endpoint) int { return cmp.Compare(len(b.models), len(a.models)) })
	} else if named := endpoints(ctx, environ, nil); len(named) > 0 && named[0].url == at {
		found = named
	}
	for _, e := range found {
		if len(e.models) == 0 || slices.Contains(e.models, name) {
			at, key = e.url, cmp.Or(key, e.key)
			break
		}
	}
	if at == "" {
		return nil, command.Usage(noEndpoint(name, found))
	}
	out := map[string]string{settingModel: name, settingURL: at}
	if key != "" {
		out[settingKey] = key
	}
	return out, nil
}

// noEndpoint says where a model was looked for, and which models exist.
func noEndpoint(name string, found []endpoint) error {
	for _, e := range found {
		return fmt.Errorf("--model %s: %s has no such model, it has %s", name, e.name, strings.Join(e.models, ", "))
	}
	return errors.New("--model " + name + ": no endpoint found. Neither " + openAIURL + " nor " + openAIKey +
		" is set, and neither Ollama " +
		"(127.0.0.1:11434) nor llama.cpp (127.0.0.1:8080) answers; name the endpoint as --model " + name + "@URL")
}
