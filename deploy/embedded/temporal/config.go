package main

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

const (
	loopback    = "127.0.0.1"
	clusterName = "local"

	// historyShards cannot change once a database exists. More shards bring no gain for one writer (SQLite).
	historyShards = 1

	// pollRPS replaces the queue processors' default of 20 polls a second and shard. With one shard, that default
	// makes every hop of a workflow wait in steps of 50 ms.
	pollRPS = 2000

	// ackInterval replaces the queue processors' default of 30 s. The server deletes a run only after it has recorded
	// the processing of the run's close. It records once per interval.
	ackInterval = time.Second
)

// serverConfig describes one process with all services and one state file. Each start chooses new ports except the
// frontend's, because no other process uses them.
func serverConfig(s settings) (*config.Config, error) {
	services := map[string]config.Service{
		string(primitives.FrontendService): {RPC: config.RPC{GRPCPort: s.port, BindOnIP: s.host}},
	}
	inner := []primitives.ServiceName{primitives.HistoryService, primitives.MatchingService, primitives.WorkerService}
	ports, err := freePorts(len(inner), s.port)
	if err != nil {
		return nil, err
	}
	for i, name := range inner {
		services[string(name)] = config.Service{RPC: config.RPC{GRPCPort: ports[i], BindOnLocalHost: true}}
	}
	frontend := hostPort(dialHost(s.host), s.port)
	off := config.Archival{
		History:    config.HistoryArchival{State: config.ArchivalDisabled},
		Visibility: config.VisibilityArchival{State: config.ArchivalDisabled},
	}
	return &config.Config{
		Global: config.Global{
			Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: loopback},
		},
		Persistence: persistence(s.dbFile),
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            services,
		Archival:            off,
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled},
		}},
		PublicClient: config.PublicClient{HostPort: frontend},
	}, nil
}

// persistence keeps workflows and their visibility in one SQLite file. WAL with synchronous=1 loses no data when the
// process is killed. A power cut may lose the last transactions, but does not damage the file. With secure_delete,
// SQLite overwrites deleted content with zeros, so that no text of an erased user stays in free pages.
func persistence(file string) config.Persistence {
	return config.Persistence{
		DefaultStore:     sqliteplugin.PluginName,
		VisibilityStore:  sqliteplugin.PluginName,
		NumHistoryShards: historyShards,
		DataStores: map[string]config.DataStore{
			sqliteplugin.PluginName: {SQL: &config.SQL{
				PluginName:   sqliteplugin.PluginName,
				DatabaseName: file,
				ConnectAttributes: map[string]string{
					"mode":          "rwc",
					"journal_mode":  "wal",
					"synchronous":   "1",
					"busy_timeout":  "10000",
					"secure_delete": "on",
				},
			}},
		},
	}
}

// orphanAge is the age at which the scanner deletes the remains of a run that failed to start. The scanner runs every
// twelve hours.
const orphanAge = time.Hour

// tuning is the dynamic configuration of a server for one machine.
func tuning() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		dynamicconfig.TransferProcessorMaxPollRPS.Key():   pollRPS,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():      pollRPS,
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): pollRPS,
		dynamicconfig.OutboundProcessorMaxPollRPS.Key():   pollRPS,

		dynamicconfig.TransferProcessorUpdateAckInterval.Key():   ackInterval,
		dynamicconfig.VisibilityProcessorUpdateAckInterval.Key(): ackInterval,

		dynamicconfig.HistoryScannerDataMinAge.Key(): orphanAge,
	}
}

// staticHosts gives each service the addresses of the others, so that no membership protocol and no port for it is
// needed.
func staticHosts(cfg *config.Config) map[primitives.ServiceName]static.Hosts {
	hosts := make(map[primitives.ServiceName]static.Hosts, len(temporal.DefaultServices))
	for _, name := range temporal.DefaultServices {
		rpc := cfg.Services[name].RPC
		host := loopback
		if rpc.BindOnIP != "" {
			host = dialHost(rpc.BindOnIP)
		}
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(hostPort(host, rpc.GRPCPort))
	}
	return hosts
}

// dialHost returns the address of a listener on host, for clients on this machine.
func dialHost(host string) string {
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return loopback
	}
	return host
}

func hostPort(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// freePorts returns n free loopback ports, none of them taken. All listeners are held until the last port is known,
// so that they differ.
func freePorts(n, taken int) ([]int, error) {
	var ports []int
	for len(ports) < n {
		l, err := net.Listen("tcp", loopback+":0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		if port := l.Addr().(*net.TCPAddr).Port; port != taken {
			ports = append(ports, port)
		}
	}
	return ports, nil
}
