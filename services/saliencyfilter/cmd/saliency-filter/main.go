// Command saliency-filter runs the saliency-filter service. `saliency-filter --help` lists its settings.
package main

import (
	"github.com/mneme-memory/mneme/services/saliencyfilter"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

func main() { runner.Main(saliencyfilter.Service) }
