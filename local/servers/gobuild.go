package servers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// progressEvery is the pause between two progress lines of a long step.
const progressEvery = 5 * time.Second

// build names one build of a server module.
type build struct {
	name   string // for messages
	module string // directory of the module
	pkg    string // package to build in it
	out    string // path of the binary
	edited string // the edited dependency
	edits  []edit

	ldflags string // linker flags in addition to the common ones
}

// urls matches the URLs in build errors, which are removed because they reveal the source of modules.
var urls = regexp.MustCompile(`https?://[^\s"']+`)

// goBuild compiles one server. The binary appears at its path only when it is complete.
func goBuild(ctx context.Context, progress io.Writer, b build) error {
	tool, err := findTool("go", "install Go to build the local servers")
	if err != nil {
		return err
	}
	partial := b.out + ".partial"
	args := []string{"build", "-trimpath", "-ldflags=-s -w " + b.ldflags, "-o", partial}
	if len(b.edits) > 0 {
		folder, err := os.MkdirTemp(filepath.Dir(b.out), "edits-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		if folder, err = filepath.Abs(folder); err != nil {
			return err
		}
		modfile, err := edited(ctx, tool, b.module, b.edited, folder, b.edits)
		if err != nil {
			return err
		}
		args = append(args, "-modfile", modfile)
	}
	cmd := exec.CommandContext(ctx, tool, append(args, b.pkg)...)
	cmd.Dir = b.module
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output

	done := reportProgress(progress, fmt.Sprintf("building the %s server", b.name), "takes minutes the first time")
	err = cmd.Run()
	done(err)
	if err != nil {
		_ = os.Remove(partial)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		lines := urls.ReplaceAllString(lastLines(output.Bytes(), tailLines), "<module source>")
		return fmt.Errorf("go build: %w\n%s", err, lines)
	}
	return os.Rename(partial, b.out)
}

// findTool looks up a program in PATH. The hint says what to install.
func findTool(name, hint string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %s is not in PATH: %s", ErrMissingTool, name, hint)
	}
	return path, nil
}

// reportProgress writes a line now and then every few seconds. The returned function writes the last line and ends
// it. Writes do not overlap.
func reportProgress(w io.Writer, what, note string) (done func(err error)) {
	start := time.Now()
	elapsed := func() time.Duration { return time.Since(start).Round(time.Second) }
	fmt.Fprintf(w, "%s (%s)\n", what, note)
	stop := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				fmt.Fprintf(w, "%s: %s\n", what, elapsed())
			}
		}
	})
	return func(err error) {
		close(stop)
		ended.Wait()
		outcome := "done"
		if err != nil {
			outcome = "stopped with an error"
		}
		fmt.Fprintf(w, "%s: %s after %s\n", what, outcome, elapsed())
	}
}
