package runner

import (
	"context"
	"fmt"
	"net/http"
)

// App is a service that has been built and can run.
type App struct {
	// Handler serves every path but the runner's own (/healthz, /readyz, /metrics); nil serves none.
	Handler http.Handler
	// Background runs from the opening of the routes until the service ends.
	Background []Task
	// Close frees the resources from build, the last first. It always runs.
	Close []Step
}

// Task is work that continues as long as the service runs.
type Task struct {
	// Name is shown in logs and errors.
	Name string
	// Run returns when ctx ends. It may return nil earlier when it has no more work. An error or a panic ends the
	// service.
	Run func(ctx context.Context) error
}

// Step is one part of shutting down.
type Step struct {
	// Name is shown in logs and errors.
	Name string
	// Run is abandoned when ctx ends. So a step that hangs does not keep the others from running.
	Run func(ctx context.Context) error
}

// NeedError names the dependency that a build waits for.
type NeedError struct {
	// Dependency is its public name, such as "weaviate".
	Dependency string
	// Err is the cause.
	Err error
}

// Error names the dependency first.
func (e *NeedError) Error() string { return fmt.Sprintf("%s: %v", e.Dependency, e.Err) }

// Unwrap returns the cause, so that a terminal error stays terminal.
func (e *NeedError) Unwrap() error { return e.Err }

// Need names the dependency that caused an error of build. /readyz shows it during the retries of the build. nil
// stays nil.
func Need(dependency string, err error) error {
	if err == nil {
		return nil
	}
	return &NeedError{Dependency: dependency, Err: err}
}
