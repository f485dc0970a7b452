//go:build tools

// Package tools pins tools that `go install` cannot build: it does not find the one in a module proxy alone, and the other's module
// replaces a dependency.
package tools

import (
	// What reads the licences of dependencies.
	_ "github.com/google/go-licenses/v2"
	// What runs the chart's own tests.
	_ "github.com/helm-unittest/helm-unittest/cmd/helm-unittest"
)
