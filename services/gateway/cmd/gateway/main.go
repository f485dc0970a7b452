// Command gateway runs the gateway service. `gateway --help` lists its settings.
package main

import (
	"github.com/mneme-memory/mneme/services/gateway"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

func main() { runner.Main(gateway.Service) }
