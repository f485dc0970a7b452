// Package cli is the command line. It runs all of Mneme on a laptop, ingests conversations and shows memories.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"unicode/utf8"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// cli is the state that all commands share.
type cli struct {
	out, err io.Writer
	json     bool
	dir      string
	target   target
}

// Execute runs the command line and returns the exit code. Results go to out, all other output to errOut.
func Execute(ctx context.Context, args []string, out, errOut io.Writer) int {
	c := &cli{out: out, err: errOut}
	err := command.Execute(ctx, c.root(), args, out, errOut, hintFor)
	return exitCode(err)
}

func (c *cli) root() *cobra.Command {
	root := command.NewRoot("mneme", "Long-term memory for multi-tenant assistants",
		"mneme runs Mneme on a laptop (up, demo) and talks to a running one (everything else).")
	f := root.PersistentFlags()
	f.BoolVar(&c.json, "json", false, "print JSON instead of tables")
	f.StringVar(&c.dir, "data", command.DefaultDir, "data folder of the local Mneme (up), where its address is found")
	c.target.flags(f)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return checkTexts(cmd) }
	root.AddCommand(c.up(), c.demo(), c.ingest(), c.recall(), c.why(), c.memories(), c.history(), c.forget(), c.release(),
		c.replay(), c.erase(), c.erasures(), c.export(), c.importUser(), c.reranker(), c.keys(), c.tenants(), c.usage(), c.records(),
		c.mcp(), c.trace(), c.status(), version(), c.eval(), c.check(), c.migrate())
	return root
}

// texts are the flags that are sent as text. Flags that name files may have any bytes.
var texts = []string{"user", "query", "expect", "expect-text", "tenant", "prefix", "handler"}

// checkTexts refuses texts that every service refuses.
func checkTexts(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(texts, f.Name) && !utf8.ValidString(f.Value.String()) {
			err = command.Usage(fmt.Errorf("--%s is not valid UTF-8", f.Name))
		}
	})
	return err
}

// oneID requires one argument, an id.
func oneID() cobra.PositionalArgs {
	return command.Args(cobra.MatchAll(cobra.ExactArgs(1), func(_ *cobra.Command, given []string) error {
		if !utf8.ValidString(given[0]) {
			return errors.New("ID is not valid UTF-8")
		}
		return nil
	}))
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return command.ExitOK
	case command.IsUsage(err), errors.Is(err, dataset.ErrFormat), connect.CodeOf(err) == connect.CodeInvalidArgument:
		return command.ExitUsage
	case errors.Is(err, standalone.ErrNotRunning), errors.Is(err, errModelUnreachable), isUnreachable(err):
		return command.ExitUnreachable
	default:
		return command.ExitFailed
	}
}

func isUnreachable(err error) bool {
	var need *runner.NeedError
	var network *net.OpError
	var told problem.Problem
	if errors.As(err, &need) || errors.As(err, &network) {
		return true
	}
	if errors.As(err, &told) {
		return told.Code == problem.CodeUnavailable || told.Code == problem.CodeUnauthenticated
	}
	code := connect.CodeOf(err)
	return code == connect.CodeUnavailable || code == connect.CodeUnauthenticated
}

// hintFor returns the next step after a known error.
func hintFor(err error) string {
	switch {
	case errors.Is(err, standalone.ErrNotRunning):
		return "start one with `mneme up` (or `make up`), or point at one with --addr and --key"
	case errors.Is(err, standalone.ErrInUse):
		return "stop that one first, or choose another folder with --data"
	case connect.CodeOf(err) == connect.CodeUnauthenticated:
		return "check --key or MNEME_API_KEY"
	case connect.CodeOf(err) == connect.CodeUnavailable:
		return "is it running? `mneme up` starts a local one; --addr names another"
	}
	return ""
}
