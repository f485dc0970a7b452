// Command build builds the servers that local runs and tests use, or what is named, if the cache does not have them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/mneme-memory/mneme/local/servers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	names := os.Args[1:]
	if len(names) == 0 {
		names = []string{servers.NameWeaviate, servers.NameTemporal}
	}
	err := servers.Build(ctx, os.Stderr, names...)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
