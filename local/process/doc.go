// Package process runs a server over its restarts, as a child process or inside this process. Local runs and tests
// start their servers with it.
//
// All servers keep their state below [Options.Dir] and may share one directory. A server called x owns x.log, x.pid,
// x.lock and x.ports.json in it. The servers listen on 127.0.0.1 at free ports. The directory stores the ports, so the
// addresses in clients and clusters stay valid in a later run.
//
// A [Server] has these methods:
//
//   - AddrOf(role): the address, the same after a restart
//   - Stop(ctx): request the end, wait for a bounded time, then kill
//   - Kill(): end at once, as kill -9 or a power cut does; for fault tests
//   - Restart(ctx): start again on the same ports and directory, after a stop if it still runs
//   - Keep(ctx): restart after each unexpected end, until restarts no longer help
//   - Done(): closed when the current run has ended, for any reason
//   - Err(): nil while it runs and after Stop or Kill; after an unexpected end the reason with the last log lines
//
// Several goroutines may call the methods. On Linux the kernel kills a child when its parent dies, even if the
// parent is killed. On other systems the next start on the directory stops remaining processes.
package process
