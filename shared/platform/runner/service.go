package runner

import (
	"context"
	"maps"
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Service is a service as a value: its name, its settings, and its build function.
type Service struct {
	name, summary string
	rows          []config.Row
	load          func(environ map[string]string) (loaded, error)
}

// loaded is a service with its configuration.
type loaded struct {
	base   Base
	values []config.Value
	build  func(ctx context.Context, tel *telemetry.Telemetry) (*App, error)
}

// settings are the settings of a service with configuration C.
type settings[C any] struct {
	Service C
	Base    Base
}

// Option adapts a service to the runner.
type Option func(defaults map[string]string)

// Default replaces the default of a setting, one of the base configuration or of a shared package.
func Default(variable, value string) Option {
	return func(defaults map[string]string) { defaults[variable] = value }
}

// Define makes a service. The argument name is its name in telemetry and logs, summary is one sentence for users. C
// is a configuration struct in the form of package config.
//
// The function build makes the App. Its ctx ends when the service is asked to end. A terminal error (package fault)
// ends the service. Any other error means a missing dependency: build is called again after a while. It must free
// its resources before it returns an error. See Need.
func Define[C any](name, summary string,
	build func(ctx context.Context, cfg C, tel *telemetry.Telemetry) (*App, error), options ...Option,
) Service {
	defaults := make(map[string]string)
	for _, option := range options {
		option(defaults)
	}
	rows := withDefaults(config.Describe[settings[C]](), defaults)
	load := func(environ map[string]string) (loaded, error) {
		if err := knows(rows, defaults); err != nil {
			return loaded{}, err
		}
		cfg, err := config.Load[settings[C]](withMissing(environ, defaults))
		if err != nil {
			return loaded{}, err
		}
		return loaded{
			base: cfg.Base, values: config.Values(cfg),
			build: func(ctx context.Context, tel *telemetry.Telemetry) (*App, error) {
				return build(ctx, cfg.Service, tel)
			},
		}, nil
	}
	return Service{name: name, summary: summary, rows: rows, load: load}
}

// Name is the service's name.
func (s Service) Name() string { return s.name }

// Summary describes the service in a sentence.
func (s Service) Summary() string { return s.summary }

// Settings describes all settings, the service's own first.
func (s Service) Settings() []config.Row { return slices.Clone(s.rows) }

func withDefaults(rows []config.Row, defaults map[string]string) []config.Row {
	for i, row := range rows {
		if value, ok := defaults[row.Name]; ok {
			rows[i].Default, rows[i].Required = value, false
		}
	}
	return rows
}

// withMissing adds the defaults of variables that are unset or empty in environ.
func withMissing(environ, defaults map[string]string) map[string]string {
	merged := maps.Clone(environ)
	if merged == nil {
		merged = make(map[string]string)
	}
	for name, value := range defaults {
		if merged[name] == "" {
			merged[name] = value
		}
	}
	return merged
}

// knows rejects a Default for a variable that the service does not read.
func knows(rows []config.Row, defaults map[string]string) error {
	for name := range defaults {
		if !slices.ContainsFunc(rows, func(r config.Row) bool { return r.Name == name }) {
			return fault.Terminal(name, "has a default but is not a setting of this service")
		}
	}
	return nil
}
