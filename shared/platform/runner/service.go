package runner

import (
	"context"
	"maps"
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Service is a service as a value: what it is called, what can be set, and how it is built.
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

// settings is what is read for a service with configuration C.
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

// Define makes a service. name is its name in telemetry and logs, summary one sentence for people,
// C a configuration struct as package config describes.
//
// build makes the App. Its ctx ends when the service is asked to end. When it returns a terminal
// error (package fault) the service ends with it; any other error means that a dependency is not
// there yet: build is called again after a while, and must have freed what it had made. See Need.
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

// Summary says in a sentence what the service does.
func (s Service) Summary() string { return s.summary }

// Settings describes everything that can be set, the service's own first.
func (s Service) Settings() []config.Row { return slices.Clone(s.rows) }

func withDefaults(rows []config.Row, defaults map[string]string) []config.Row {
	for i, row := range rows {
		if value, ok := defaults[row.Name]; ok {
			rows[i].Default, rows[i].Required = value, false
		}
	}
	return rows
}

// withMissing adds the defaults for what environ leaves unset or empty.
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

// knows catches a Default for a variable that the service does not read.
func knows(rows []config.Row, defaults map[string]string) error {
	for name := range defaults {
		if !slices.ContainsFunc(rows, func(r config.Row) bool { return r.Name == name }) {
			return fault.Terminal(name, "has a default but is not a setting of this service")
		}
	}
	return nil
}
