// Command build builds the named servers if the cache lacks them. Without names it builds Weaviate and Temporal. With
// -have it builds nothing and fails if the cache lacks a server.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/mneme-memory/mneme/local/servers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	have := flag.Bool("have", false, "only say by the exit code whether the cache has them")
	flag.Parse()
	names := flag.Args()
	if len(names) == 0 {
		names = []string{servers.NameWeaviate, servers.NameTemporal}
	}
	if *have {
		for _, name := range names {
			if built, err := servers.Built(name); err != nil || !built {
				os.Exit(1)
			}
		}
		return
	}
	err := servers.Build(ctx, os.Stderr, names...)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
