// Command bench compares the speed of Mneme with the bare systems under it. `bench --help` lists its flags.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/mneme-memory/mneme/test/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := bench.Execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
