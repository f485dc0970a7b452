//go:build cluster

// Package cluster_test runs the services as the chart does, with several replicas each. It replaces, adds and removes
// replicas while they work.
package cluster_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
