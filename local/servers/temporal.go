package servers

import (
	"context"
	"fmt"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Temporal is a running Temporal server with the namespace "default". See the package comment for Stop, Kill, Restart,
// Done and Err.
type Temporal struct{ *server }

// TemporalDeleteAfter is the value of MNEME_TEMPORAL_DELETE_AFTER for this server. Every second, the server records
// the closed runs that it has processed.
const TemporalDeleteAfter = "2s"

// frontendService is the name under which the frontend reports its health.
const frontendService = "temporal.api.workflowservice.v1.WorkflowService"

const roleFrontend = "frontend"

// StartTemporal starts Temporal on the directory (one SQLite file) and returns when its frontend is healthy, in 1-2
// seconds. The very first call builds the server, which takes minutes.
func StartTemporal(ctx context.Context, o Options) (*Temporal, error) {
	o, err := o.prepare()
	if err != nil {
		return nil, err
	}
	binary, err := o.binary(ctx, NameTemporal)
	if err != nil {
		return nil, err
	}
	s, err := startChild(ctx, NameTemporal, o, spec{
		command: func(p ports) command {
			return command{path: binary, dir: o.Dir, args: []string{
				"--addr", p.addr(roleFrontend),
				"--db", filepath.Join(o.Dir, NameTemporal, "temporal.db"),
			}}
		},
		ready: func(ctx context.Context, p ports) error { return frontendHealthy(ctx, p.addr(roleFrontend)) },
	}, roleFrontend)
	if err != nil {
		return nil, err
	}
	return &Temporal{s}, nil
}

// Addr is the host:port of the frontend (gRPC), as client.Options.HostPort wants it.
func (t *Temporal) Addr() string { return t.addr(roleFrontend) }

// frontendHealthy calls the standard gRPC health service.
func frontendHealthy(ctx context.Context, addr string) error {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	request := &grpc_health_v1.HealthCheckRequest{Service: frontendService}
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, request)
	if err != nil {
		return err
	}
	if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("frontend reports %s", answer.GetStatus())
	}
	return nil
}
