package command

import (
	"context"
	"errors"
	"io"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/records"
)

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
