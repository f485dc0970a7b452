// Package laptop holds the commands that run Mneme on this machine and look at it: up, demo, status, trace and version.
package laptop

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.up(), c.demo(), c.status(), c.trace(), version()}
}

// version is the command that prints the version.
func version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "mneme %s %s %s/%s\n", runner.Version(), runtime.Version(), runtime.GOOS,
				runtime.GOARCH)
			return err
		},
	}
}

// part is a server or a service of a local Mneme.
type part struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	// State is "ready", or the reason why it is not.
	State string `json:"state"`
}

func (c commands) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the servers and services of the local Mneme, and whether they are ready",
		Long: "status asks each server and service of the Mneme that runs on the data folder whether it is ready.\n" +
			"The exit code is 1 if one is not ready. A model that does not answer does not change it.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runStatus(cmd.Context()) },
	}
}

func (c commands) runStatus(ctx context.Context) error {
	conn, err := standalone.LoadConnection(c.Dir)
	if err != nil {
		return err
	}
	var parts []part
	down := 0
	for _, p := range conn.Parts {
		state := probe(ctx, p.Address)
		if state != ready {
			down++
		}
		parts = append(parts, part{Name: p.Name, Address: p.Address, State: state})
	}
	modelState := modelState(ctx, conn.Model)
	if conn.Model != "" {
		parts = append(parts, part{Name: "model", Address: conn.Model, State: modelState})
	}
	if c.JSON {
		if err := command.WriteJSON(c.Out, parts); err != nil {
			return err
		}
	} else {
		t := c.Table("parts", "part", "address", "state")
		for _, p := range parts {
			t.AppendRow([]any{p.Name, p.Address, p.State})
		}
		t.Render()
	}
	c.warnOfModel(conn.Model, modelState)
	if down > 0 {
		return fmt.Errorf("%d of %d parts are not ready; the logs are in the folder %q", down, len(conn.Parts), c.Dir)
	}
	return nil
}

// modelState asks the endpoint of a model for any HTTP answer. The request has no key. An empty URL is ready.
func modelState(ctx context.Context, base string) string {
	if base == "" {
		return ready
	}
	if state := probe(ctx, strings.TrimRight(base, "/")+"/models"); state == notReachable {
		return state
	}
	return ready
}

// warnOfModel prints one line if the model does not answer: the effect, and how to try again.
func (c commands) warnOfModel(base, state string) {
	if base == "" || state == ready {
		return
	}
	fmt.Fprintf(c.Err, "! The model at %s does not answer. Turns are accepted and wait, recall uses the stored memories, "+
		"but policy llm forms no new ones. Start the model, and they are formed; bin/mneme%s status checks it again.\n",
		command.Printable(base), dataFlag(c.Dir))
}

const (
	ready        = "ready"
	notReachable = "not reachable"
	probeTimeout = 2 * time.Second
)

// probe asks an address whether it is ready: a URL by a GET request, host:port by a connection.
func probe(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil || req.URL.Host == "" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return notReachable
		}
		_ = conn.Close()
		return ready
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return notReachable
	}
	_ = res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if res.StatusCode != http.StatusOK {
		return "answers " + res.Status
	}
	return ready
}

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
