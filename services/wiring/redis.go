package wiring

import (
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/extra/redisotel/v9"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Redis configures the access to Redis.
type Redis struct {
	Addrs    []string      `env:"MNEME_REDIS_ADDRS" envDefault:"127.0.0.1:6379" desc:"host:port, comma-separated; several mean a cluster, or Sentinels if a master name is set"`
	User     string        `env:"MNEME_REDIS_USER" desc:"Redis user; empty for the default one"`
	Password config.Secret `env:"MNEME_REDIS_PASSWORD" desc:"Redis password; empty for none"`
	TLS      bool          `env:"MNEME_REDIS_TLS" envDefault:"false" desc:"whether Redis uses TLS; certificates are verified"`
	DB       int           `env:"MNEME_REDIS_DB" envDefault:"0" desc:"number of the Redis database; not for a cluster"`
	// Master is the name of the primary in the Sentinels.
	Master           string        `env:"MNEME_REDIS_SENTINEL_MASTER" desc:"name of the master in the Sentinels; the addresses are then the Sentinels' addresses; empty without Sentinels"`
	SentinelUser     string        `env:"MNEME_REDIS_SENTINEL_USER" desc:"user of the Sentinels; empty for the default one"`
	SentinelPassword config.Secret `env:"MNEME_REDIS_SENTINEL_PASSWORD" desc:"password of the Sentinels; empty for none"`
	// WeightsPrefix is the same in every service, because erasure needs it as well as the reranker.
	WeightsPrefix string `envDefault:"mneme:weights:"`
	// DirectoryPrefix is the same in every service, too.
	DirectoryPrefix string `env:"MNEME_REDIS_DIRECTORY_PREFIX" envDefault:"mneme:directory:" desc:"prefix of the keys of tenants and API keys"`
}

// Validate checks the limits that the types do not express.
func (r Redis) Validate() error {
	return errors.Join(
		config.Require(len(r.Addrs) > 0, "MNEME_REDIS_ADDRS", r.Addrs, "at least one host:port"),
		config.Require(r.Master != "" || r.SentinelUser == "", "MNEME_REDIS_SENTINEL_USER", r.SentinelUser,
			"a user only if MNEME_REDIS_SENTINEL_MASTER is set"),
		config.Require(r.Master != "" || r.SentinelPassword == "", "MNEME_REDIS_SENTINEL_PASSWORD", r.SentinelPassword,
			"a password only if MNEME_REDIS_SENTINEL_MASTER is set"),
	)
}

// Open creates a client for a service's own data in Redis. It does not wait for Redis. The caller closes it.
func (r Redis) Open(tel *telemetry.Telemetry) (goredis.UniversalClient, error) { return r.client(tel) }

// openOver creates a store over a new client. The returned function closes the client.
func openOver[S any](
	r Redis, tel *telemetry.Telemetry, create func(goredis.UniversalClient) (S, error),
) (store S, free func() error, err error) {
	client, err := r.client(tel)
	if err != nil {
		return store, nil, err
	}
	made, err := create(client)
	if err != nil {
		return store, nil, errors.Join(err, client.Close())
	}
	return made, client.Close, nil
}

// quiet stops the driver's output to stderr, because it also returns the errors.
var quiet = sync.OnceFunc(logging.Disable)

// client creates a client. It does not wait for Redis.
func (r Redis) client(tel *telemetry.Telemetry) (goredis.UniversalClient, error) {
	return r.OpenWithin(tel, 2*time.Second)
}

// OpenWithin creates a client with a timeout for reads and writes. It does not wait for Redis. The caller closes it.
func (r Redis) OpenWithin(tel *telemetry.Telemetry, timeout time.Duration) (goredis.UniversalClient, error) {
	quiet()
	c := goredis.NewUniversalClient(&goredis.UniversalOptions{
		Addrs: r.Addrs, Username: r.User, Password: r.Password.Reveal(), DB: r.DB,
		MasterName: r.Master, SentinelUsername: r.SentinelUser, SentinelPassword: r.SentinelPassword.Reveal(),
		TLSConfig: verified(r.TLS), ContextTimeoutEnabled: true, DialTimeout: 2 * time.Second, ReadTimeout: timeout,
		WriteTimeout: timeout,
	})
	if err := redisotel.InstrumentMetrics(c, redisotel.WithMeterProvider(tel.Meter)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
