package modelcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Form values name the answer forms that an endpoint can enforce.
const (
	FormSchema  = "schema"  // a JSON schema is enforced
	FormJSON    = "JSON"    // JSON mode is enforced, a schema is not
	FormNone    = "none"    // neither is enforced
	FormUnknown = "unknown" // the endpoint's answer did not decide it
)

// probeOutput is the longest answer of a probe, in tokens. The probe needs one word, but a model may think first.
const probeOutput = 1024

// prober sends probes for properties that no case shows. It uses the role's request settings without the role's
// prompts.
type prober struct {
	cfg       llm.Config
	transport http.RoundTripper
	found     map[string]*found // by every setting that the findings may depend on
}

// found holds the findings of probes of a model.
type found struct {
	form   string
	window *Window
}

func newProber(cfg llm.Config, transport http.RoundTripper) *prober {
	return &prober{cfg: cfg, transport: transport, found: map[string]*found{}}
}

// findingsOf returns the findings of a role's model. Roles with the same request settings share them.
func (p *prober) findingsOf(role llm.Role) *found {
	key := fmt.Sprint(p.cfg.ModelFor(role), p.cfg.BodyFor(role), p.room(role))
	if p.found[key] == nil {
		p.found[key] = &found{}
	}
	return p.found[key]
}

// room is the longest prompt of a role, in tokens.
func (p *prober) room(role llm.Role) int64 {
	return p.cfg.WindowFor(role) - p.cfg.MaxOutputTokensFor(role)
}

// look adds the probes' findings on the role's model to a report. It probes the window with a prompt of the given
// tokens.
func (p *prober) look(ctx context.Context, role llm.Role, prompt int64, r *RoleReport) {
	of := p.findingsOf(role)
	if role != llm.RoleGenerator {
		if of.form == "" {
			of.form = p.form(ctx, role)
		}
		r.Form = of.form
	}
	if prompt > 0 && of.window == nil {
		of.window = p.window(ctx, role, prompt)
	}
	r.Window = of.window
}

// send sends one request within the role's request timeout. format is the request's response_format; nil leaves it out.
func (p *prober) send(
	ctx context.Context, role llm.Role, prompt string, format any,
) (answer string, input int64, err error) {
	cfg := p.cfg
	cfg.MaxOutputTokens = min(probeOutput, cfg.MaxOutputTokensFor(role))
	cfg.Window += int64(len(prompt)) // the endpoint decides whether the prompt fits
	cfg.Body = maps.Clone(cfg.BodyFor(role))
	own := cfg.Roles[role]
	own.MaxOutputTokens, own.Window, own.Body = nil, nil, nil
	cfg.Roles = llm.Roles{role: own}
	if format != nil {
		raw, err := json.Marshal(format)
		if err != nil {
			return "", 0, err
		}
		if cfg.Body == nil {
			cfg.Body = llm.Body{}
		}
		cfg.Body["response_format"] = raw
	}
	client, err := llm.NewClient(cfg, llm.Deps{Transport: p.transport})
	if err != nil {
		return "", 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.TimeoutFor(role))
	defer cancel()
	var used llm.Usage
	r := llm.Request{Role: role, Scope: scope(), System: "You answer in one short sentence, in plain words.", User: prompt}
	answer, err = llm.Ask(llm.WithUsage(ctx, &used), client, r, func(answer string) (string, error) { return answer, nil })
	return answer, used.InputTokens(), err
}

// refusals are the statuses of requests that an endpoint refuses.
var refusals = []int{
	http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusNotImplemented,
}

// refused reports whether an endpoint refuses a request as it is, for any reason.
func refused(err error) bool {
	var status *llm.StatusError
	return errors.As(err, &status) && status.Code != contentFilter && slices.Contains(refusals, status.Status)
}

// colour is a form that a model uses only under enforcement.
type colour struct {
	Shade string `json:"shade_code" enum:"k41|k42|k43"`
}

// form finds the form that a role's endpoint enforces. It requests a sentence and demands first a schema, then JSON
// mode. An accepted request proves nothing, because servers accept settings that they do not support.
func (p *prober) form(ctx context.Context, role llm.Role) string {
	schema := structured.SchemaOf[colour]("shade")
	forms := []struct {
		name   string
		format any
		fits   func(answer string) bool
	}{
		{FormSchema, map[string]any{
			"type": "json_schema", "json_schema": map[string]any{"name": schema.Name, "strict": true, "schema": schema},
		}, func(answer string) bool { return structured.Decode(schema, answer, new(colour)) == nil }},
		{FormJSON, map[string]any{"type": "json_object"}, func(answer string) bool {
			var object map[string]any
			return json.Unmarshal([]byte(strings.TrimSpace(answer)), &object) == nil
		}},
	}
	none := FormNone
	for _, f := range forms {
		// The prompt names JSON because some servers otherwise refuse JSON mode.
		answer, _, err := p.send(ctx, role, "Which colour has a ripe tomato? This is no question about JSON.", f.format)
		switch {
		case err == nil && f.fits(answer):
			return f.name
		case err != nil && !refused(err):
			none = FormUnknown
		}
	}
	return none
}
