// Package runner runs a service: configuration, telemetry, one HTTP server with health and metrics, background
// work, and an orderly end. A service is a value made by Define. Its main is runner.Main(thing.Service). The
// all-in-one calls Run for a list of services.
//
// The order of a start is: configuration, telemetry, listen (health only), build, open the routes, background
// tasks, ready. The order of an end is: not ready, drain delay, finish open requests, cancel background tasks and
// wait for them, closing steps in reverse, flush telemetry.
package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

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

// App is a service that has been built and can run.
type App struct {
	// Handler serves every path but the runner's own (/healthz, /readyz, /metrics); nil serves none.
	Handler http.Handler
	// Background runs from the opening of the routes until the service ends.
	Background []Task
	// Close frees the resources from build, the last first. It always runs.
	Close []Step
}

// Task is work that continues as long as the service runs.
type Task struct {
	// Name is shown in logs and errors.
	Name string
	// Run returns when ctx ends. It may return nil earlier when it has no more work. An error or a panic ends the
	// service.
	Run func(ctx context.Context) error
}

// Step is one part of shutting down.
type Step struct {
	// Name is shown in logs and errors.
	Name string
	// Run is abandoned when ctx ends. So a step that hangs does not keep the others from running.
	Run func(ctx context.Context) error
}

// NeedError names the dependency that a build waits for.
type NeedError struct {
	// Dependency is its public name, such as "weaviate".
	Dependency string
	// Err is the cause.
	Err error
}

// Error names the dependency first.
func (e *NeedError) Error() string { return fmt.Sprintf("%s: %v", e.Dependency, e.Err) }

// Unwrap returns the cause, so that a terminal error stays terminal.
func (e *NeedError) Unwrap() error { return e.Err }

// Need names the dependency that caused an error of build. /readyz shows it during the retries of the build. nil
// stays nil.
func Need(dependency string, err error) error {
	if err == nil {
		return nil
	}
	return &NeedError{Dependency: dependency, Err: err}
}

// AddrVariable is the variable of the listening address. Most services give it a Default.
const AddrVariable = "MNEME_HTTP_ADDR"

// MetricsAddrVariable is the variable of the address of /metrics. A service with a public address gives it a Default.
const MetricsAddrVariable = "MNEME_METRICS_ADDR"

// Base is the configuration that every service has in addition to its settings.
type Base struct {
	// Addr is the listening address of the HTTP server.
	Addr string `env:"MNEME_HTTP_ADDR" envDefault:"127.0.0.1:0" desc:"host:port of the HTTP server (RPC, /healthz, /readyz, /metrics); port 0 takes a free one"`
	// MetricsAddr is a separate address for /metrics, for services with a public main address. It is empty for no
	// separate address.
	MetricsAddr string `env:"MNEME_METRICS_ADDR" envDefault:"" desc:"host:port of a separate HTTP server for /metrics, which MNEME_HTTP_ADDR then does not serve; port 0 takes a free one; empty for no separate server"`
	// MaxBody bounds a request.
	MaxBody config.Size `env:"MNEME_HTTP_MAX_BODY" envDefault:"8MiB" desc:"largest request body"`
	// HeaderTimeout is the maximum time for a client to send the headers.
	HeaderTimeout time.Duration `envDefault:"5s"`
	// BodyTimeout is the maximum time for a client to send a body, from the end of its headers.
	BodyTimeout time.Duration `env:"MNEME_HTTP_BODY_TIMEOUT" envDefault:"15s" desc:"longest time for a client to send a request's body; answers and streams may take longer"`
	// DrainDelay is the wait between the loss of readiness and refused connections.
	DrainDelay time.Duration `env:"MNEME_DRAIN_DELAY" envDefault:"0s" desc:"time between the failure of /readyz and the close of the server, for load balancers"`
	// StopTimeout bounds each stage of the end.
	StopTimeout time.Duration `env:"MNEME_SHUTDOWN_TIMEOUT" envDefault:"10s" desc:"longest time of each stage of the shutdown: open requests, background work, close, telemetry"`
	// RetryMax is the longest pause between two attempts to start.
	RetryMax time.Duration `env:"MNEME_START_RETRY_MAX" envDefault:"15s" desc:"longest pause between start attempts while a dependency is down; the first pause is 0.25 s, and later ones grow"`
	// Telemetry configures traces, metrics and logs.
	Telemetry telemetry.Config
}

// Validate checks the rules that types cannot express.
func (b Base) Validate() error {
	return errors.Join(
		config.Require(isAddr(b.Addr), AddrVariable, b.Addr, "host:port"),
		config.Require(b.MetricsAddr == "" || isAddr(b.MetricsAddr), MetricsAddrVariable, b.MetricsAddr,
			"host:port, or nothing"),
		config.Require(b.MaxBody > 0, "MNEME_HTTP_MAX_BODY", b.MaxBody, "more than zero"),
		config.Require(b.BodyTimeout > 0, "MNEME_HTTP_BODY_TIMEOUT", b.BodyTimeout, "more than zero"),
		config.Require(b.DrainDelay >= 0, "MNEME_DRAIN_DELAY", b.DrainDelay, "zero or more"),
		config.Require(b.StopTimeout > 0, "MNEME_SHUTDOWN_TIMEOUT", b.StopTimeout, "more than zero"),
		config.Require(b.RetryMax > 0, "MNEME_START_RETRY_MAX", b.RetryMax, "more than zero"),
	)
}

func isAddr(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 0 && n <= 65535
}
