// Command histories runs the training workflow on a real Temporal server and writes its histories for the replay test.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/mneme-memory/mneme/test/histories/recorder"
)

func main() {
	out := flag.String("out", "lab", "folder of the laboratory, below which the histories are written")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var all []recorder.Life
	for _, l := range trainings() {
		all = append(all, recorder.Life{Workflow: "distributed", Name: l.name, Version: "v1", Live: l.live})
	}
	err := recorder.Record(ctx, *out, all)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}
