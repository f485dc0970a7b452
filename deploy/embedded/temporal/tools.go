//go:build tools

package main

// The server and the tool of its SQL schema as a cluster runs them, for tests of what clients see when one of its nodes dies.
import (
	_ "go.temporal.io/server/cmd/server"
	_ "go.temporal.io/server/cmd/tools/sql"
)
