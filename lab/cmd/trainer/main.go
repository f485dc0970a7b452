// Command trainer runs the service for rollouts of trainers of large models. `trainer --help` lists its settings.
package main

import (
	"github.com/mneme-memory/mneme/lab/trainer"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

func main() { runner.Main(trainer.Service) }
