package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mneme-memory/mneme/shared/platform/config"
)

// roles are the roles that may have settings.
var roles = []Role{RoleFilter, RoleExtractor, RoleManager, RoleUtilizer, RoleGenerator, RoleEmbedding}

// Roles has the settings of roles that differ from the settings of all roles.
type Roles map[Role]RoleSettings

// RoleSettings are the settings of one role. An unset field means the setting of all roles.
type RoleSettings struct {
	// Model is the name of the model.
	Model string `yaml:"model"`
	// Timeout bounds one attempt.
	Timeout *time.Duration `yaml:"timeout"`
	// Concurrency is the largest number of requests at once; 0 sets no limit for the role.
	Concurrency *int `yaml:"concurrency"`
	// Window bounds prompt and answer together, MaxOutputTokens the answer, in tokens.
	Window          *int64 `yaml:"window"`
	MaxOutputTokens *int64 `yaml:"max_output_tokens"`
	// Temperature is the sampling temperature, 0 to 2.
	Temperature *float64 `yaml:"temperature"`
	// Body has further fields of requests.
	Body Body `yaml:"extra_body"`
}

// UnmarshalText implements encoding.TextUnmarshaler. The text is YAML: a mapping from roles to their settings.
func (r *Roles) UnmarshalText(text []byte) error {
	var read map[Role]RoleSettings
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&read); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("is not YAML of roles: %w", err)
	}
	*r = read
	return nil
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (b *Body) UnmarshalYAML(node *yaml.Node) error {
	var fields map[string]any
	if err := node.Decode(&fields); err != nil {
		return err
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return b.UnmarshalText(text)
}

// checkRoles reports every setting of a role that is out of range.
func (c Config) checkRoles() []error {
	var errs []error
	for name, s := range c.Roles {
		require := func(field string, fine bool, value any, want string) {
			errs = append(errs, config.Require(fine, "ROLES", fmt.Sprintf("%s.%s: %v", name, field, value), want))
		}
		if !slices.Contains(roles, name) {
			errs = append(errs, config.Require(false, "ROLES", string(name), fmt.Sprintf("roles among %q", roles)))
			continue
		}
		if s.Timeout != nil {
			require("timeout", *s.Timeout > 0, *s.Timeout, "more than 0")
		}
		if s.Concurrency != nil {
			require("concurrency", *s.Concurrency > 0, *s.Concurrency, "more than 0")
		}
		if s.MaxOutputTokens != nil {
			require("max_output_tokens", *s.MaxOutputTokens > 0 && *s.MaxOutputTokens < c.WindowFor(name), *s.MaxOutputTokens,
				"more than 0, and less than the role's window")
		}
		if s.Window != nil {
			require("window", *s.Window > c.MaxOutputTokensFor(name), *s.Window, "more than the role's longest answer")
		}
		if s.Temperature != nil {
			require("temperature", *s.Temperature >= 0 && *s.Temperature <= 2, *s.Temperature, "0 to 2")
		}
	}
	return errs
}

// own returns a role's own setting, or else the setting of all roles.
func own[V any](value *V, all V) V {
	if value != nil {
		return *value
	}
	return all
}

// TimeoutFor bounds one attempt of a role.
func (c Config) TimeoutFor(r Role) time.Duration { return own(c.Roles[base(r)].Timeout, c.Timeout) }

// WindowFor is the window of a role's model, in tokens.
func (c Config) WindowFor(r Role) int64 { return own(c.Roles[base(r)].Window, c.Window) }

// MaxOutputTokensFor bounds an answer of a role, in tokens.
func (c Config) MaxOutputTokensFor(r Role) int64 {
	return own(c.Roles[base(r)].MaxOutputTokens, c.MaxOutputTokens)
}

// TemperatureFor is a role's sampling temperature.
func (c Config) TemperatureFor(r Role) float64 {
	return own(c.Roles[base(r)].Temperature, c.Temperature)
}

// ModelFor is the model of a role; empty when none is set.
func (c Config) ModelFor(r Role) string {
	if m := c.Roles[base(r)].Model; m != "" {
		return m
	}
	if r == RoleEmbedding && c.EmbeddingModel != "" {
		return c.EmbeddingModel
	}
	return c.Model
}

// HasModel reports whether any role has a model.
func (c Config) HasModel() bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return c.ModelFor(r) != "" })
}

// BodyFor returns the further fields of a role's requests.
func (c Config) BodyFor(r Role) Body {
	if b := c.Roles[base(r)].Body; b != nil {
		return b
	}
	return c.Body
}
