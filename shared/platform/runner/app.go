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
	// Background runs from when the routes are open until the service ends.
	Background []Task
	// Close frees what build made, the last first. It runs whatever happened before.
	Close []Step
}

// Task is work that goes on for as long as the service runs.
type Task struct {
	// Name is shown in logs and errors.
	Name string
	// Run returns when ctx ends. Returning nil earlier means that there is nothing left to do;
	// returning an error, or panicking, ends the service.
	Run func(ctx context.Context) error
}

// Step is one part of shutting down.
type Step struct {
	// Name is shown in logs and errors.
	Name string
	// Run is given up on when ctx ends, so that one that hangs does not keep the others from running.
	Run func(ctx context.Context) error
}

// NeedError says which dependency a build is waiting for.
type NeedError struct {
	// Dependency is its public name, such as "weaviate".
	Dependency string
	// Err is what went wrong.
	Err error
}

// Error names the dependency first.
func (e *NeedError) Error() string { return fmt.Sprintf("%s: %v", e.Dependency, e.Err) }

// Unwrap returns the cause, so that a terminal error stays terminal.
func (e *NeedError) Unwrap() error { return e.Err }

// Need names the dependency that an error of build comes from, for /readyz to show while the build
// is retried; nil stays nil.
func Need(dependency string, err error) error {
	if err == nil {
		return nil
	}
	return &NeedError{Dependency: dependency, Err: err}
}
