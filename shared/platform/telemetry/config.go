package telemetry

import (
	"errors"
	"log/slog"
	"net/url"
	"strings"

	"github.com/mneme-memory/mneme/shared/platform/config"
)

// Config has the telemetry settings for operators.
type Config struct {
	// Endpoint is the base URL for OTLP/HTTP. Empty exports nothing.
	Endpoint string `env:"OTEL_EXPORTER_OTLP_ENDPOINT" desc:"base URL of an OTLP/HTTP collector for traces, metrics and logs, such as http://127.0.0.1:4318; empty exports nothing"`
	// Headers are sent with each export, as "name=value,name=value".
	Headers config.Secret `env:"OTEL_EXPORTER_OTLP_HEADERS" desc:"headers of every export, as name=value,name=value"`
	// SampleRatio is the share of kept traces among the traces that begin here.
	SampleRatio float64 `env:"MNEME_TELEMETRY_SAMPLE_RATIO" envDefault:"1" desc:"share of kept traces among the traces that begin in this service, 0 to 1; a trace from another service keeps the decision made there"`
	// LogLevel is the least severe level that is logged.
	LogLevel string `env:"MNEME_LOG_LEVEL" envDefault:"info" oneof:"debug|info|warn|error" desc:"lowest severity of the logged messages"`
	// LogFormat is the form of lines on standard error.
	LogFormat string `env:"MNEME_LOG_FORMAT" envDefault:"json" oneof:"json|text" desc:"form of the log lines on standard error"`
}

// Validate checks the rules that types cannot express.
func (c Config) Validate() error {
	_, headersErr := c.headers()
	return errors.Join(
		config.Require(c.SampleRatio >= 0 && c.SampleRatio <= 1, "MNEME_TELEMETRY_SAMPLE_RATIO", c.SampleRatio,
			"a number from 0 to 1"),
		config.Require(c.Endpoint == "" || isHTTP(c.Endpoint), "OTEL_EXPORTER_OTLP_ENDPOINT", c.Endpoint,
			"a URL such as http://127.0.0.1:4318"),
		config.Require(headersErr == nil, "OTEL_EXPORTER_OTLP_HEADERS", c.Headers, "name=value pairs between commas"),
	)
}

func isHTTP(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

var errHeaders = errors.New("headers are not name=value pairs")

// headers reads the OTEL_EXPORTER_OTLP_HEADERS form. Values are percent-encoded.
func (c Config) headers() (map[string]string, error) {
	headers := make(map[string]string)
	if c.Headers == "" {
		return headers, nil
	}
	for pair := range strings.SplitSeq(c.Headers.Reveal(), ",") {
		name, value, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, errHeaders
		}
		headers[name] = decoded
	}
	return headers, nil
}

func (c Config) level() slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return slog.LevelInfo // the zero Config logs at info
	}
	return level
}
