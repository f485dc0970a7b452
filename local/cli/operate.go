package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/gateway/keys"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// envTenantsFile is the variable with the tenants file. noFile says that no file is known.
const (
	envTenantsFile = "MNEME_TENANTS_FILE"
	noFile         = "-"
)

// operateTimeout limits an operator's command.
const operateTimeout = 15 * time.Second

// operator works directly on the directory, without the services.
type operator struct {
	keys.Operator
	// tenant is the tenant of the local data folder; empty for another Redis.
	tenant string
	// file holds the tenants of the tenants file. filed reports whether the file is known; otherwise Lookup is nil.
	file  []tenant.Tenant
	filed bool
}

// operator returns an operator on a directory. The tenants file comes from the environment, or else from the local
// data folder.
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

// group is a command with subcommands.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 0 {
				return command.Usage(fmt.Errorf("no command %q: see mneme %s --help", given[0], use))
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
	ctx, cancel := context.WithTimeout(ctx, operateTimeout)
	defer cancel()
	cfg, local, err := command.FindRedis(ctx, redis, c.dir)
	if err != nil {
		return err
	}
	tel, err := telemetry.New(ctx, "mneme-cli", "", telemetry.Config{LogLevel: "error", LogFormat: "text"}, c.err)
	if err != nil {
		return err
	}
	defer func() { _ = tel.Shutdown(context.WithoutCancel(ctx)) }() // without an export
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

// operated converts an error of an operator's command to an error of the command line.
func operated(err error) error {
	var known *connect.Error
	switch {
	case err == nil:
		return nil
	case fault.IsTerminal(err):
		return command.Usage(err)
	case errors.As(err, &known):
		return errors.New(known.Message())
	case slices.Contains([]connect.Code{connect.CodeUnavailable, connect.CodeDeadlineExceeded}, connect.CodeOf(rpcerror.From(err))):
		return runner.Need("redis", err)
	}
	return err
}

// ofTenant returns the tenant of an operator's command.
func (c *cli) ofTenant(o *operator) (string, error) {
	if t := first(c.target.tenant, os.Getenv(envTenant), o.tenant); t != "" {
		return t, nil
	}
	return "", command.Usage(fmt.Errorf("--tenant (or %s) is missing", envTenant))
}
