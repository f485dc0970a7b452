// Package runner runs a service: configuration, telemetry, one HTTP server with health and metrics, background
// work, and an orderly end. A service is a value made by Define. Its main is runner.Main(thing.Service). The
// all-in-one calls Run for a list of services.
//
// The order of a start is: configuration, telemetry, listen (health only), build, open the routes, background
// tasks, ready. The order of an end is: not ready, drain delay, finish open requests, cancel background tasks and
// wait for them, closing steps in reverse, flush telemetry.
package runner
