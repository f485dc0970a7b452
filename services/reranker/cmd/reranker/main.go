// Command reranker runs the reranker service. `reranker --help` lists its settings.
package main

import (
	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

func main() { runner.Main(reranker.Service) }
