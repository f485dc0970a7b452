//go:build tools

// Package weaviate pins the Weaviate server of local runs and tests. It is a separate module, so that the server's
// dependencies never reach the services.
package weaviate

import _ "github.com/weaviate/weaviate/cmd/weaviate-server"
