package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/gateway/keys"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// envRedis names the Redis that operators' commands work on; the other settings of Redis are taken from the environment, too.
const envRedis = "MNEME_REDIS_ADDRS"

// envTenantsFile names the tenants file, noFile says that there is none.
const (
	envTenantsFile = "MNEME_TENANTS_FILE"
	noFile         = "-"
)

// operateTimeout bounds an operator's command, and dialTimeout how long it waits for a connection.
const (
	operateTimeout = 15 * time.Second
	dialTimeout    = 3 * time.Second
)

// operator is what commands of operators work with: the directory itself, beside all services.
type operator struct {
	keys.Operator
	// tenant is that of the local data folder; empty where another Redis was named.
	tenant string
	// file has the tenants of the tenants file; filed is whether it is known. Where it is not, Lookup is nil.
	file  []tenant.Tenant
	filed bool
}

// operator makes the operator that works on a directory, with the tenants file that the environment names, or else the local data folder's.
func (c *cli) operator(d directory.Directory, local string) (*operator, error) {
	o := &operator{Operator: keys.Operator{Directory: d, Now: time.Now}, tenant: local}
	path := os.Getenv(envTenantsFile)
	if path == "" && local != "" {
		path = standalone.TenantsFile(c.dir)
	}
	if o.filed = path != ""; !o.filed {
		return o, nil
	}
	if path == noFile {
		path = ""
	} else {
		file, err := tenant.Open(tenant.Options{Path: path})
		if err != nil {
			return nil, err
		}
		o.file = file.Tenants()
	}
	all, err := tenant.Open(tenant.Options{Path: path, Source: d})
	if err != nil {
		return nil, err
	}
	o.Lookup = all.Lookup
	return o, nil
}

// redisFlag adds the flag of operators' commands.
func redisFlag(f *pflag.FlagSet, addrs *[]string) {
	f.StringSliceVar(addrs, "redis", nil,
		"Redis, host:port; several mean a cluster, or Sentinels where MNEME_REDIS_SENTINEL_MASTER is set (or "+envRedis+")")
}

// group is a command of commands.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 0 {
				return usageError{fmt.Errorf("there is no command %q: see mneme %s --help", given[0], use)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// operate runs an operator's command.
func (c *cli) operate(ctx context.Context, redis []string, run func(context.Context, *operator) error) error {
	cfg, local, err := c.redisSettings(redis)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, operateTimeout)
	defer cancel()
	if err := reach(ctx, cfg.Addrs); err != nil {
		return runner.Need("redis", err)
	}
	tel, err := telemetry.New(ctx, "mneme-cli", "", telemetry.Config{LogLevel: "error", LogFormat: "text"}, c.err)
	if err != nil {
		return err
	}
	defer func() { _ = tel.Shutdown(context.WithoutCancel(ctx)) }() // nothing is exported
	d, free, err := cfg.OpenDirectory(tel)
	if err != nil {
		return err
	}
	o, err := c.operator(d, local)
	if err == nil {
		err = run(ctx, o)
	}
	return errors.Join(operated(err), free())
}

// redisSettings finds the Redis: the flag first, then the environment, then what `mneme up` left in the data folder, whose tenant is
// returned, too.
func (c *cli) redisSettings(addrs []string) (cfg wiring.Redis, local string, err error) {
	environ := config.Environ()
	switch {
	case len(addrs) > 0:
		environ[envRedis] = strings.Join(addrs, ",")
	case environ[envRedis] == "":
		conn, err := standalone.LoadConnection(c.dir)
		if err != nil {
			return cfg, "", fmt.Errorf("no address of Redis: %w (looked for --redis, %s, and in the folder %q)", err, envRedis, c.dir)
		}
		if len(conn.Redis) == 0 {
			return cfg, "", usageError{fmt.Errorf("the address of Redis is not known: name it with --redis (or %s)", envRedis)}
		}
		environ[envRedis], local = strings.Join(conn.Redis, ","), conn.Tenant
	}
	if cfg, err = config.Load[wiring.Redis](environ); err != nil {
		return cfg, "", usageError{err}
	}
	return cfg, local, nil
}

// reach connects to one of the addresses, so that what does not listen is told at once.
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

// operated is an error of an operator's command as the command line tells errors.
func operated(err error) error {
	var known *connect.Error
	switch {
	case err == nil:
		return nil
	case fault.IsTerminal(err):
		return usageError{err}
	case errors.As(err, &known):
		return errors.New(known.Message())
	case slices.Contains([]connect.Code{connect.CodeUnavailable, connect.CodeDeadlineExceeded}, connect.CodeOf(rpcerror.From(err))):
		return runner.Need("redis", err)
	}
	return err
}

// ofTenant is the tenant that an operator's command is about.
func (c *cli) ofTenant(o *operator) (string, error) {
	if t := first(c.target.tenant, os.Getenv(envTenant), o.tenant); t != "" {
		return t, nil
	}
	return "", usageError{fmt.Errorf("--tenant (or %s) is missing", envTenant)}
}
