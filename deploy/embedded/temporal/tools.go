//go:build tools

package main

// The server and its SQL schema tool, as a cluster runs them. Tests measure the clients' view when a node dies.
import (
	_ "go.temporal.io/server/cmd/server"
	_ "go.temporal.io/server/cmd/tools/sql"
)
