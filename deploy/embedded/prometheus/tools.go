//go:build tools

package main

import (
	// The promtool program, which tests alerts.
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
