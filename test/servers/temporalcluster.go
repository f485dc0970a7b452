package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
)

const (
	roleMembership  = "membership"
	serviceHistory  = "history"
	serviceFrontend = "frontend"
)

// temporalServices are the processes of a cluster. Services that clients and workflows depend on run twice.
var temporalServices = []string{serviceHistory, serviceHistory, serviceFrontend, serviceFrontend, "matching", "worker"}

// TemporalCluster is Temporal as in production: one process per service. The services find each other through
// PostgreSQL.
type TemporalCluster struct {
	Postgres             *Postgres
	Frontends, Histories []*servers.Temporal
	others               []*servers.Temporal
}

// StartTemporalCluster starts PostgreSQL and six processes. No namespace exists yet. The very first call builds the
// server, which takes minutes. If PostgreSQL is not installed, the error is [process.ErrMissingTool].
func StartTemporalCluster(ctx context.Context, o process.Options) (_ *TemporalCluster, err error) {
	binary, err := servers.Binary(ctx, o.Log, servers.NameTemporalServer)
	if err != nil {
		return nil, err
	}
	c := &TemporalCluster{}
	if c.Postgres, err = StartPostgres(ctx, o); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Postgres.Kill())
		}
	}()
	if err = c.schema(ctx, o); err != nil {
		return nil, err
	}
	nodes, err := placeNodes(o, servers.NameTemporal, len(temporalServices), servers.RoleFrontend, roleMembership)
	if err != nil {
		return nil, err
	}
	frontend := nodes[2].ports.Addr(servers.RoleFrontend)
	start := func(i int, n node) (*servers.Temporal, error) {
		return startTemporalService(ctx, binary, temporalServices[i], n, c.config(n, frontend))
	}
	first, err := start(0, nodes[0]) // alone, because concurrent first starts on a new database fail
	if err != nil {
		return nil, err
	}
	rest, err := startNodes(nodes[1:], func(i int, n node) (*servers.Temporal, error) { return start(i+1, n) })
	if err != nil {
		return nil, errors.Join(err, first.Kill())
	}
	c.Histories, c.Frontends, c.others = []*servers.Temporal{first, rest[0]}, rest[1:3], rest[3:]
	return c, nil
}

// schema creates the databases, once.
func (c *TemporalCluster) schema(ctx context.Context, o process.Options) error {
	have, err := c.Postgres.Run(ctx, "psql", "-Atc", "SELECT count(*) FROM pg_database WHERE datname LIKE 'temporal%'",
		namePostgres)
	if err != nil || strings.TrimSpace(string(have)) != "0" {
		return err
	}
	tool, err := servers.Binary(ctx, o.Log, servers.NameTemporalSQLTool)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(c.Postgres.Addr())
	if err != nil {
		return err
	}
	var g errgroup.Group
	for database, schema := range map[string]string{"temporal": "temporal", "temporal_visibility": "visibility"} {
		g.Go(func() error {
			for _, step := range [][]string{
				{"create-database"}, {"setup-schema", "-v", "0.0"}, {"update-schema", "--schema-name", "postgresql/v12/" + schema},
			} {
				args := append([]string{"--plugin", "postgres12", "--ep", host, "-p", port, "-u", namePostgres, "--db", database},
					step...)
				if out, err := exec.CommandContext(ctx, tool, args...).CombinedOutput(); err != nil {
					return fmt.Errorf("make the schema of %s: %w\n%s", database, err, process.LastLines(out))
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// config is the configuration of a node, in the notation of Temporal's own examples. The number of shards gives both
// history nodes some.
func (c *TemporalCluster) config(n node, frontend string) string {
	store := func(database string) string {
		return fmt.Sprintf("{sql: {pluginName: postgres12, databaseName: %s, connectAddr: %q, connectProtocol: tcp, user: "+
			"%s, maxConns: 10, maxIdleConns: 10}}", database, c.Postgres.Addr(), namePostgres)
	}
	services := "" // the node runs one service, but needs the ports of all
	for _, name := range slices.Compact(slices.Clone(temporalServices)) {
		services += fmt.Sprintf("  %s: {rpc: {grpcPort: %d, membershipPort: %d, bindOnLocalHost: true}}\n",
			name, n.ports[servers.RoleFrontend], n.ports[roleMembership])
	}
	return fmt.Sprintf(`log: {stdout: true, level: warn}
persistence:
  defaultStore: default
  visibilityStore: visibility
  numHistoryShards: 16
  datastores:
    default: %s
    visibility: %s
global:
  membership: {maxJoinDuration: 30s, broadcastAddress: %q}
services:
%sclusterMetadata:
  failoverVersionIncrement: 10
  masterClusterName: active
  currentClusterName: active
  clusterInformation:
    active: {enabled: true, initialFailoverVersion: 1, rpcName: frontend, rpcAddress: %q}
dcRedirectionPolicy: {policy: noop}
archival: {history: {state: disabled}, visibility: {state: disabled}}
namespaceDefaults: {archival: {history: {state: disabled}, visibility: {state: disabled}}}
`, store("temporal"), store("temporal_visibility"), process.Loopback, services, frontend)
}

// startTemporalService runs one service. A frontend is ready when it is healthy; the others are ready when they are
// members.
func startTemporalService(
	ctx context.Context, binary, service string, n node, config string,
) (*servers.Temporal, error) {
	file := filepath.Join(n.Dir, service+".yaml")
	s, err := process.StartChild(ctx, servers.NameTemporal, n.Options, process.Spec{
		Roles:   []string{servers.RoleFrontend, roleMembership},
		Prepare: func(context.Context, process.Ports) error { return os.WriteFile(file, []byte(config), 0o644) },
		Command: func(process.Ports) process.Command {
			return process.Command{Path: binary, Dir: n.Dir, Args: []string{
				"--config-file", file, "--allow-no-auth", "start", "--service", service,
			}}
		},
		Ready: func(ctx context.Context, p process.Ports) error {
			if service == serviceFrontend {
				return servers.TemporalHealthy(ctx, p.Addr(servers.RoleFrontend))
			}
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.Addr(roleMembership))
			if err != nil {
				return err
			}
			return conn.Close()
		},
	})
	if err != nil {
		return nil, err
	}
	return &servers.Temporal{Server: s}, nil
}

// Stop ends all processes, PostgreSQL last.
func (c *TemporalCluster) Stop(ctx context.Context) error {
	all := append(append(append([]*servers.Temporal{}, c.Frontends...), c.Histories...), c.others...)
	err := each(all, func(_ int, s *servers.Temporal) error { return s.Stop(ctx) })
	return errors.Join(err, c.Postgres.Stop(ctx))
}
