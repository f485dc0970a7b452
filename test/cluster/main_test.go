//go:build cluster

// Package cluster_test runs the services as the chart does, several replicas of each, and replaces, adds and takes away replicas while
// they are at work.
package cluster_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
