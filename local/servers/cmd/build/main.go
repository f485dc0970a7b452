// Command build builds the servers that local runs and tests use, if the cache does not have them.
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
	err := servers.Build(ctx, os.Stderr, servers.NameWeaviate, servers.NameTemporal)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
