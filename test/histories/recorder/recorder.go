// Package recorder runs workflows on a real Temporal server and writes their histories for replay tests.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// folder is the folder of the histories in a workflow's package.
const folder = "testdata/histories"

// Life is one run of a workflow.
type Life struct {
	// Workflow is the folder of the workflow's package. Name is the file's name.
	Workflow, Name string
	// Version is the version of the workflow's steps.
	Version string
	// Live runs the workflow and returns its history.
	Live func(context.Context, client.Client) (*historypb.History, error)
}

// Record starts a Temporal server, runs the lives without a file, and writes their histories below out.
func Record(ctx context.Context, out string, lives []Life) (err error) {
	dir, err := os.MkdirTemp("", "mneme-record-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server, err := servers.StartTemporal(ctx, process.Options{Dir: dir, Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	c, err := client.DialContext(ctx, consolidation.ClientOptions(client.Options{
		HostPort: server.Addr(), Identity: "recorder", Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	}))
	if err != nil {
		return err
	}
	defer c.Close()
	for _, l := range lives {
		if err := write(ctx, c, filepath.Join(out, l.Workflow, folder), l); err != nil {
			return err
		}
	}
	return nil
}

// write records a life if it has no file yet.
func write(ctx context.Context, c client.Client, dir string, l Life) error {
	file := filepath.Join(dir, l.Name+"."+l.Version+".json")
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	history, err := l.Live(ctx, c)
	if err != nil {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	data, err := protojson.MarshalOptions{Indent: " "}.Marshal(history)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o644); err != nil { //nolint:gosec // public test data
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d events\n", l.Name, len(history.GetEvents()))
	return nil
}

// Fetch reads the history of a run. An empty run means the latest one.
func Fetch(ctx context.Context, c client.Client, id, run string) (*historypb.History, error) {
	history := &historypb.History{}
	for it := c.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		event, err := it.Next()
		if err != nil {
			return nil, err
		}
		history.Events = append(history.Events, event)
	}
	return history, nil
}
