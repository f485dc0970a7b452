package laptop

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/command"
)

var traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func (c commands) trace() *cobra.Command {
	return &cobra.Command{
		Use:   "trace ID",
		Short: "Print a trace of the local Mneme as a tree",
		Args:  command.Args(cobra.ExactArgs(1)),
		RunE:  func(cmd *cobra.Command, a []string) error { return c.runTrace(cmd.Context(), a[0]) },
	}
}

func (c commands) runTrace(ctx context.Context, id string) error {
	if !traceID.MatchString(id) {
		return command.Usage(fmt.Errorf("trace id %q: want 32 hexadecimal digits", id))
	}
	conn, err := c.Target.Resolve(c.Dir)
	if err != nil {
		return err
	}
	if conn.Traces == "" {
		return command.Usage(fmt.Errorf("only a local Mneme (mneme up) stores traces; ask the trace collector of " +
			"a remote one"))
	}
	path := "/api/traces/" + id
	if !c.JSON {
		path += "/tree"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, conn.Traces+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("get trace: %w", err)
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return fmt.Errorf("trace %s is not stored, or no longer", id)
	default:
		return fmt.Errorf("trace viewer answered %s", res.Status)
	}
	_, err = io.Copy(c.Out, res.Body)
	return err
}
