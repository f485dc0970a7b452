// Command temporal is a complete Temporal server in one process: all four services, SQLite in one file, no other
// dependency. Local runs and tests start it as a child; production uses a Temporal cluster.
//
// It is a separate module, because the server's dependencies conflict with the services' module.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/temporal"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "temporal:", err)
		os.Exit(1)
	}
}

// run starts the server and blocks until SIGINT or SIGTERM.
func run(args []string) error {
	settings, err := parse(args)
	if err != nil {
		return err
	}
	// The handler is installed before the first service starts, so that a signal during the start is not lost.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)

	cfg, err := serverConfig(settings)
	if err != nil {
		return err
	}
	if err := prepareStore(cfg); err != nil {
		return err
	}
	logger := log.NewZapLogger(log.BuildZapLogger(log.Config{Level: settings.logLevel, Format: "json"}))
	server, err := temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(cfg)),
		temporal.WithDynamicConfigClient(tuning()),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
	)
	if err != nil {
		return fmt.Errorf("assemble server: %w", err)
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go checkpoint(ctx, cfg.Persistence.DataStores[cfg.Persistence.DefaultStore].SQL, logger)
	<-stop
	cancel()
	if err := server.Stop(); err != nil {
		return fmt.Errorf("stop server: %w", err)
	}
	return nil
}

// settings are the values of the command line.
type settings struct {
	host     string
	port     int
	dbFile   string
	logLevel string
}

// parse reads the flags. The address must have a host and a port, so that clients can find the server.
func parse(args []string) (settings, error) {
	flags := flag.NewFlagSet("temporal", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:7233", "host:port of the frontend (gRPC)")
	db := flags.String("db", "", "SQLite file that holds all state; created when missing")
	level := flags.String("log-level", "warn", "debug, info, warn or error")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	if *db == "" {
		return settings{}, fmt.Errorf("--db is required")
	}
	// The file name becomes part of a URI. In a URI these characters start the query or the fragment.
	if strings.ContainsAny(*db, "?#%") {
		return settings{}, fmt.Errorf("--db %q: the characters ?, # and %% are not possible in the file name", *db)
	}
	host, portText, err := net.SplitHostPort(*addr)
	if err != nil {
		return settings{}, fmt.Errorf("--addr: %w", err)
	}
	if net.ParseIP(host) == nil {
		return settings{}, fmt.Errorf("--addr: %q is not an IP address", host)
	}
	port, err := strconv.Atoi(portText)
	if err != nil || port < 1 || port > 65535 {
		return settings{}, fmt.Errorf("--addr: %q is not a port", portText)
	}
	file, err := filepath.Abs(*db)
	if err != nil {
		return settings{}, fmt.Errorf("--db: %w", err)
	}
	return settings{host: host, port: port, dbFile: file, logLevel: *level}, nil
}
