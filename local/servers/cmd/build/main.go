// Command build builds the servers that local runs and tests use, or what is named, if the cache does not have them. With -have it builds
// nothing, and fails where the cache lacks one.
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
