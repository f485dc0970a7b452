//go:build tools

// Package kubernetes pins Helm, which renders charts. It is a separate module, so that no other module has Helm's
// dependencies.
package kubernetes

import (
	// The helm program, in both major versions that the chart supports.
	_ "helm.sh/helm/v3/cmd/helm"
	_ "helm.sh/helm/v4/cmd/helm"
)
