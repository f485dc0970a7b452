// Command utilizer runs the utilizer service. `utilizer --help` lists its settings.
package main

import (
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

func main() { runner.Main(utilizer.Service) }
