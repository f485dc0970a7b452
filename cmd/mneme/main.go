// Command mneme runs Mneme on a laptop and talks to a running one. `mneme --help` lists its commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/mneme-memory/mneme/local/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
