//go:build tools

// Package tools pins tools that `go install` cannot build. It cannot find one of them in a module proxy alone. The
// module of the other replaces a dependency.
package tools

import (
	// Reads the licences of dependencies.
	_ "github.com/google/go-licenses/v2"
	// Runs the chart's own tests.
	_ "github.com/helm-unittest/helm-unittest/cmd/helm-unittest"
)
