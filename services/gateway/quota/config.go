package quota

import (
	"errors"
	"fmt"

	"github.com/mneme-memory/mneme/shared/platform/config"
)

// Handling of calls while Redis is away.
const (
	// FailOpen serves them without limits.
	FailOpen = "open"
	// FailClosed refuses them.
	FailClosed = "closed"
)

// maxRate bounds the limits per second and per minute. maxStreams bounds the limits of streams. Beyond these
// values, no limit is better.
const (
	maxRate    = 100_000
	maxStreams = 1_000_000
)

// Limits are the limits of tenants and keys. 0 means no limit.
type Limits struct {
	RequestsPerSecond       int    `env:"MNEME_GATEWAY_REQUESTS_PER_SECOND" envDefault:"50" desc:"requests a second of one API key; the burst limit has the same value; 0 for no limit"`
	TenantRequestsPerSecond int    `env:"MNEME_GATEWAY_TENANT_REQUESTS_PER_SECOND" envDefault:"500" desc:"requests a second of all API keys of a tenant; 0 for no limit"`
	TurnsPerMinute          int    `env:"MNEME_GATEWAY_TURNS_PER_MINUTE" envDefault:"6000" desc:"turns a minute that a tenant may add; the burst limit has the same value; 0 for no limit"`
	TokensPerDay            int    `env:"MNEME_GATEWAY_TOKENS_PER_DAY" envDefault:"0" desc:"model tokens that a tenant may use a day, in UTC; beyond it, turns, recalls and answers are refused until the next day; 0 for no limit"`
	Memories                int    `env:"MNEME_GATEWAY_MEMORIES" envDefault:"0" desc:"valid and quarantined memories of a tenant; beyond it, turns and ready-made memories are refused until some are deleted or erased; an update adds none; 0 for no limit"`
	Items                   int    `env:"MNEME_GATEWAY_ITEMS" envDefault:"0" desc:"verbatim items of a tenant, including the items of sessions, of up to 256 KiB each; beyond it, more are refused until some are deleted, cleared, taken off or erased, or expire; 0 for no limit"`
	Streams                 int    `env:"MNEME_GATEWAY_STREAMS" envDefault:"10" desc:"open streams of one API key; 0 for no limit"`
	TenantStreams           int    `env:"MNEME_GATEWAY_TENANT_STREAMS" envDefault:"200" desc:"open streams of all API keys of a tenant; 0 for no limit"`
	Fail                    string `env:"MNEME_GATEWAY_LIMITS_FAIL" envDefault:"open" oneof:"open|closed" desc:"behaviour while Redis is unavailable: open serves calls without limits and reports it in X-RateLimit-Status; closed refuses them"`
}

// Validate checks the rules that the types do not express.
func (l Limits) Validate() error {
	rate, streams := fmt.Sprintf("0 to %d", maxRate), fmt.Sprintf("0 to %d", maxStreams)
	within := func(n, most int) bool { return n >= 0 && n <= most }
	return errors.Join(
		config.Require(within(l.RequestsPerSecond, maxRate), "MNEME_GATEWAY_REQUESTS_PER_SECOND", l.RequestsPerSecond, rate),
		config.Require(within(l.TenantRequestsPerSecond, maxRate), "MNEME_GATEWAY_TENANT_REQUESTS_PER_SECOND",
			l.TenantRequestsPerSecond, rate),
		config.Require(within(l.TurnsPerMinute, maxRate), "MNEME_GATEWAY_TURNS_PER_MINUTE", l.TurnsPerMinute, rate),
		config.Require(l.TokensPerDay >= 0, "MNEME_GATEWAY_TOKENS_PER_DAY", l.TokensPerDay, "zero or more"),
		config.Require(l.Memories >= 0, "MNEME_GATEWAY_MEMORIES", l.Memories, "zero or more"),
		config.Require(l.Items >= 0, "MNEME_GATEWAY_ITEMS", l.Items, "zero or more"),
		config.Require(within(l.Streams, maxStreams), "MNEME_GATEWAY_STREAMS", l.Streams, streams),
		config.Require(within(l.TenantStreams, maxStreams), "MNEME_GATEWAY_TENANT_STREAMS", l.TenantStreams, streams),
	)
}
