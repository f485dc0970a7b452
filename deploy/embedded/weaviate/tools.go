//go:build tools

// Package weaviate pins the Weaviate server that local runs and tests use.
// It is a module of its own so that the server's dependencies never reach the services.
package weaviate

import _ "github.com/weaviate/weaviate/cmd/weaviate-server"
