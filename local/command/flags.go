package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/records"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// DefaultDir is the data folder of a local Mneme.
const DefaultDir = "data"

// EnvRedis is the variable with the Redis addresses for operators' commands. The other settings of Redis also come
// from the environment.
const EnvRedis = "MNEME_REDIS_ADDRS"

// dialTimeout limits the wait for a connection.
const dialTimeout = 3 * time.Second

// Require makes text flags mandatory. A missing one is a usage error.
func Require(cmd *cobra.Command, names ...string) {
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		for _, name := range names {
			if v, err := cmd.Flags().GetString(name); err == nil && v == "" {
				return Usage(fmt.Errorf("--%s is missing: %s", name, cmd.UseLine()))
			}
		}
		return check(cmd, given)
	}
}

// StrategyNames returns the names of all strategies.
func StrategyNames() []string {
	var out []string
	for _, s := range tenant.Strategies() {
		out = append(out, string(s))
	}
	return out
}

// CheckFormation refuses an unknown strategy or policy, and an unsupported pair of them.
func CheckFormation(strategy, policy string) error {
	for flag, value := range map[string]string{"strategy": strategy, "policy": policy} {
		if value == "" {
			return Usage(fmt.Errorf("--%s is empty", flag))
		}
	}
	_, err := tenant.Check(tenant.Tenant{
		ID: standalone.LocalTenant, Strategy: tenant.Strategy(strategy), Policy: tenant.Policy(policy),
	})
	if err != nil {
		return Usage(fmt.Errorf("--%w", err))
	}
	return nil
}

// RedisFlag adds the Redis flag of operators' commands.
func RedisFlag(f *pflag.FlagSet, addrs *[]string) {
	f.StringSliceVar(addrs, "redis", nil,
		"Redis, host:port; several addresses are a cluster, or Sentinels if MNEME_REDIS_SENTINEL_MASTER is set (or "+EnvRedis+
			")")
}

// FindRedis finds the Redis and connects once. The address comes from the flag, the environment, or the data folder
// of `mneme up`. For the data folder it also returns the folder's tenant.
func FindRedis(ctx context.Context, addrs []string, dir string) (cfg wiring.Redis, local string, err error) {
	environ := config.Environ()
	switch {
	case len(addrs) > 0:
		environ[EnvRedis] = strings.Join(addrs, ",")
	case environ[EnvRedis] == "":
		conn, err := standalone.LoadConnection(dir)
		if err != nil {
			return cfg, "", fmt.Errorf("no address of Redis: %w (looked for --redis, %s, and in the folder %q)", err, EnvRedis,
				dir)
		}
		if len(conn.Redis) == 0 {
			return cfg, "", Usage(fmt.Errorf("no address of Redis: name it with --redis (or %s)", EnvRedis))
		}
		environ[EnvRedis], local = strings.Join(conn.Redis, ","), conn.Tenant
	}
	if cfg, err = config.Load[wiring.Redis](environ); err != nil {
		return cfg, "", Usage(err)
	}
	if err := reach(ctx, cfg.Addrs); err != nil {
		return cfg, "", runner.Need("redis", err)
	}
	return cfg, local, nil
}

// reach connects to one of the addresses, so that a closed port fails at once.
func reach(ctx context.Context, addrs []string) error {
	var errs []error
	dialer := net.Dialer{Timeout: dialTimeout}
	for _, addr := range addrs {
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Names joins words for a flag's help.
func Names[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

// Records holds the flags of commands that read recorded calls of models.
type Records struct {
	Redis              []string
	Tenant, User, Role string
}

// Open opens the records for run. dir is the data folder of `mneme up`. errOut receives errors of telemetry.
func (r Records) Open(ctx context.Context, dir string, errOut io.Writer, run func(*records.Store) error) (err error) {
	if err := memory.ValidTenant(r.Tenant); err != nil {
		return Usage(err)
	}
	cfg, _, err := FindRedis(ctx, r.Redis, dir)
	if err != nil {
		return err
	}
	tel, err := telemetry.New(ctx, "mneme-cli", "", telemetry.Config{LogLevel: "error", LogFormat: "text"}, errOut)
	if err != nil {
		return err
	}
	defer func() { _ = tel.Shutdown(context.WithoutCancel(ctx)) }() // without an export
	store, free, err := cfg.OpenRecords(records.Options{}, tel)
	if err != nil {
		return err
	}
	return errors.Join(run(store), free())
}
