package tenants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/gateway/keys"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/store/usage"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// envTenantsFile is the variable with the tenants file. noFile says that no file is known.
const (
	envTenantsFile = "MNEME_TENANTS_FILE"
	noFile         = "-"
)

// directoryTimeout limits an operator's command.
const directoryTimeout = 15 * time.Second

// operator works directly on the directory, without the services.
type operator struct {
	keys.Operator
	// tenant is the tenant of the local data folder; empty for another Redis.
	tenant string
	// file holds the tenants of the tenants file. filed reports whether the file is known; otherwise Lookup is nil.
	file  []tenant.Tenant
	filed bool
	usage *usage.Counter
}

// operator returns an operator on a directory. The tenants file comes from the environment, or else from the local
// data folder.
func (c commands) operator(d directory.Directory, local string) (*operator, error) {
	o := &operator{Operator: keys.Operator{Directory: d, Now: time.Now}, tenant: local}
	path := os.Getenv(envTenantsFile)
	if path == "" && local != "" {
		path = standalone.TenantsFile(c.Dir)
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

// withDirectory opens the directory of tenants and keys for an operator's command.
func (c commands) withDirectory(ctx context.Context, redis []string, run func(context.Context, *operator) error) error {
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	cfg, local, err := command.FindRedis(ctx, redis, c.Dir)
	if err != nil {
		return err
	}
	tel, err := telemetry.New(ctx, "mneme-cli", "", telemetry.Config{LogLevel: "error", LogFormat: "text"}, c.Err)
	if err != nil {
		return err
	}
	defer func() { _ = tel.Shutdown(context.WithoutCancel(ctx)) }() // without an export
	d, free, err := cfg.OpenDirectory(tel)
	if err != nil {
		return err
	}
	counter, freeUsage, err := cfg.OpenUsage(tel)
	if err != nil {
		return errors.Join(err, free())
	}
	o, err := c.operator(d, local)
	if err == nil {
		o.usage = counter
		err = run(ctx, o)
	}
	return errors.Join(commandError(err), freeUsage(), free())
}

// commandError converts an error of an operator's command to an error of the command line.
func commandError(err error) error {
	var known *connect.Error
	switch {
	case err == nil:
		return nil
	case fault.IsTerminal(err):
		return command.Usage(err)
	case errors.As(err, &known):
		return errors.New(known.Message())
	case slices.Contains([]connect.Code{connect.CodeUnavailable, connect.CodeDeadlineExceeded},
		connect.CodeOf(rpcerror.From(err))):
		return runner.Need("redis", err)
	}
	return err
}

// tenantID returns the tenant of an operator's command.
func (c commands) tenantID(o *operator) (string, error) {
	if t := cmp.Or(c.Target.TenantID(), o.tenant); t != "" {
		return t, nil
	}
	return "", command.Usage(fmt.Errorf("--tenant (or %s) is missing", console.EnvTenant))
}
