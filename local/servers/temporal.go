package servers

import (
	"context"
	"fmt"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/mneme-memory/mneme/local/process"
)

// Temporal is a running Temporal server with the namespace "default".
type Temporal struct{ *process.Server }

// TemporalDeleteAfter is the value of MNEME_TEMPORAL_DELETE_AFTER for this server. Every second, the server records
// the closed runs that it has processed.
const TemporalDeleteAfter = "2s"

// frontendService is the name under which the frontend reports its health.
const frontendService = "temporal.api.workflowservice.v1.WorkflowService"

// RoleFrontend names the port of the frontend.
const RoleFrontend = "frontend"

// StartTemporal starts Temporal on the directory (one SQLite file) and returns when its frontend is healthy, in 1-2
// seconds. The very first call builds the server, which takes minutes.
func StartTemporal(ctx context.Context, o process.Options) (*Temporal, error) {
	o, err := o.Prepare()
	if err != nil {
		return nil, err
	}
	binary, err := programOf(ctx, o, NameTemporal)
	if err != nil {
		return nil, err
	}
	s, err := process.StartChild(ctx, NameTemporal, o, process.Spec{
		Roles: []string{RoleFrontend},
		Command: func(p process.Ports) process.Command {
			return process.Command{Path: binary, Dir: o.Dir, Args: []string{
				"--addr", p.Addr(RoleFrontend),
				"--db", filepath.Join(o.Dir, NameTemporal, "temporal.db"),
			}}
		},
		Ready: func(ctx context.Context, p process.Ports) error { return TemporalHealthy(ctx, p.Addr(RoleFrontend)) },
	})
	if err != nil {
		return nil, err
	}
	return &Temporal{s}, nil
}

// Addr is the host:port of the frontend (gRPC), as client.Options.HostPort wants it.
func (t *Temporal) Addr() string { return t.AddrOf(RoleFrontend) }

// TemporalHealthy returns nil when the frontend at an address says that it serves. It calls the standard gRPC health
// service.
func TemporalHealthy(ctx context.Context, addr string) error {
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
