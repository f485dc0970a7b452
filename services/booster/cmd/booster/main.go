// Command booster runs the booster service. `booster --help` lists its settings.
package main

import (
	"github.com/mneme-memory/mneme/services/booster"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

func main() { runner.Main(booster.Service) }
