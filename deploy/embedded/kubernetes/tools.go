//go:build tools

// Package kubernetes pins what charts are rendered with: it is a module of its own because Helm's dependencies are nobody else's concern.
package kubernetes

import (
	// The helm program, of both major versions that the chart is for.
	_ "helm.sh/helm/v3/cmd/helm"
	_ "helm.sh/helm/v4/cmd/helm"
)
