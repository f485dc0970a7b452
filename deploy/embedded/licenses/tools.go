//go:build tools

// Package licenses pins what reads the licences of dependencies: `go install` cannot find it in a module proxy alone.
package licenses

import (
	// The go-licenses program.
	_ "github.com/google/go-licenses/v2"
)
