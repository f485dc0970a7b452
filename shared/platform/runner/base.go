package runner

import (
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// AddrVariable is the variable of the listening address. Most services give it a Default.
const AddrVariable = "MNEME_HTTP_ADDR"

// MetricsAddrVariable is the variable of the address of /metrics. A service with a public address gives it a
// Default.
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
