package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrInUse is returned when another process (or another value in this one) already runs the server on the directory.
var ErrInUse = errors.New("data directory in use")

// ErrExited is wrapped by Err and by the start of a server when the server ended unexpectedly.
var ErrExited = errors.New("server exited unexpectedly")

// Options are common to all servers.
type Options struct {
	// Dir holds data, logs and ports. It is required, and is created if missing.
	Dir string
	// Log receives lines for people on builds, waits and restarts. Nil discards them. Several goroutines may write at
	// once.
	Log io.Writer
	// Binary replaces the program of Weaviate, Temporal or redis-server. Empty means the cached build, or the program
	// in PATH.
	Binary string
}

// Prepare checks the options, creates the directory and returns the options with all defaults set.
func (o Options) Prepare() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("local server: Options.Dir is required")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("local server directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return o, fmt.Errorf("local server directory: %w", err)
	}
	o.Dir = dir
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o, nil
}

// PortsFile is the path of the file in the directory that stores a server's ports.
func (o Options) PortsFile(name string) string { return o.file(name, ".ports.json") }

// file is the path of a server's file in the directory: its name and a suffix.
func (o Options) file(name, suffix string) string { return filepath.Join(o.Dir, name+suffix) }
