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
	"strings"

	"github.com/mneme-memory/mneme/local/process"
)

// build names one build of a server module.
type build struct {
	name    string // for messages
	module  string // directory of the module
	pkg     string // package to build in it
	out     string // path of the binary
	changes []change
	work    work   // of the build with an empty cache
	ldflags string // linker flags in addition to the common ones
}

// urls matches the URLs in build errors, which are removed because they reveal the source of modules.
var urls = regexp.MustCompile(`https?://[^\s"']+`)

// goBuild compiles one server. The binary appears at its path only when it is complete.
func goBuild(ctx context.Context, progress io.Writer, b build) error {
	tool, err := process.FindTool("go", "install Go to build the local servers")
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(b.out), "changes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	// Debuggers alone need DWARF data, and the compiler takes a tenth longer to write it. The standard library is
	// compiled with the flags of Mneme's own binaries, so that both share it.
	flags := []string{"-trimpath", "-gcflags=all=-dwarf=false", "-gcflags=std=", "-ldflags=-s -w " + b.ldflags}
	fmt.Fprintf(progress, "building the %s server, once: reading its modules\n", b.name)
	if len(b.changes) > 0 {
		modfile, err := changed(ctx, tool, b.module, folder, b.changes)
		if err != nil {
			return err
		}
		flags = append(flags, "-modfile", modfile)
	}
	all, stale, err := packagesOf(ctx, tool, b, flags)
	if err != nil {
		return err
	}
	partial := b.out + ".partial"
	output := &compilation{stale: stale, total: len(stale)}
	cmd := goCommand(ctx, tool, b, append(append([]string{"build"}, flags...), "-v", "-o", partial, b.pkg)...)
	cmd.Stdout, cmd.Stderr = output, output
	what := fmt.Sprintf("building the %s server", b.name)
	done := ReportProgress(progress, what, b.work.usually(output.total, all), output.state)
	err = cmd.Run()
	done(err)
	if err != nil {
		_ = os.Remove(partial)
		return buildError(ctx, "go build", err, output.rest())
	}
	return os.Rename(partial, b.out)
}

// goCommand returns a call of the go command in the module of a server.
func goCommand(ctx context.Context, tool string, b build, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = b.module
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	return cmd
}

// packagesOf returns the number of the server's packages, and those that Go's cache lacks.
func packagesOf(ctx context.Context, tool string, b build, flags []string) (all int, stale map[string]bool, err error) {
	args := append(append([]string{"list"}, flags...), "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{else}}-{{end}}",
		b.pkg)
	cmd := goCommand(ctx, tool, b, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return 0, nil, buildError(ctx, "go list", err, errs.Bytes())
	}
	packages := strings.Fields(out.String())
	stale = make(map[string]bool)
	for _, name := range packages {
		if name != "-" {
			stale[name] = true
		}
	}
	return len(packages), stale, nil
}

// buildError is an error of the go command with the end of its output.
func buildError(ctx context.Context, what string, err error, output []byte) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	lines := urls.ReplaceAllString(process.LastLines(output), "<module source>")
	return fmt.Errorf("%s: %w\n%s", what, err, lines)
}
