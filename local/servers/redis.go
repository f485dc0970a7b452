package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

const (
	nameRedis = "redis"
	roleRedis = "redis"
)

// Redis is a running Redis server inside this process. See the package comment for Stop, Kill, Restart, Done and Err.
//
// It holds strings, hashes, lists, sets and sorted sets with expiry, runs Lua scripts and transactions, and passes
// messages to subscribers. What it could not bring back after a restart it refuses with an error that says so: other
// databases than 0, WATCH, blocking commands, streams, HyperLogLogs and expiry of single hash fields. Scripts are
// replayed, so they must not use math.random. Expiry is accurate to 50 ms.
type Redis struct{ *inProcess }

// StartRedis starts the embedded Redis on the directory. Each write is appended to a log before it is executed and
// replayed at the next start: acknowledged writes survive a kill -9 of this process (a power cut may lose the last
// ones). The start rewrites the log to the present contents, so its size is bounded by what was written since.
func StartRedis(ctx context.Context, o Options) (*Redis, error) {
	o, err := o.prepare()
	if err != nil {
		return nil, err
	}
	s := &inProcess{name: nameRedis, opts: o, roles: []string{roleRedis}}
	s.open = func(_ context.Context, p ports, failed func(error)) (instance, error) {
		return openRedis(o.file(nameRedis, ".aof"), p.addr(roleRedis), failed)
	}
	if err := startInProcess(ctx, s); err != nil {
		return nil, err
	}
	return &Redis{s}, nil
}

// Addr is the host:port of the server.
func (r *Redis) Addr() string { return r.ports.addr(roleRedis) }

// loggedRedis is one execution of the embedded server with its log. It accepts connections itself, so that none is
// served before the contents are restored and every command passes the gate.
type loggedRedis struct {
	mini     *miniredis.Miniredis
	log      *commandLog
	listener net.Listener
	accepts  sync.WaitGroup
}

// openRedis restores the contents, rewrites the log to them and then listens.
func openRedis(file, addr string, failed func(error)) (instance, error) {
	contents, err := restore(file)
	if err != nil {
		return nil, err
	}
	if err := writeLog(file, contents); err != nil {
		return nil, fmt.Errorf("rewrite log: %w", err)
	}
	// A second server, filled from the rewritten log alone, has exactly what the next start will find. The first one
	// also knows scripts that the log no longer holds.
	g, err := newGate(failed)
	if err != nil {
		return nil, err
	}
	for _, r := range contents {
		g.replay(r)
	}
	r := &loggedRedis{mini: g.mini}
	if r.log, err = openLog(file); err != nil {
		g.mini.Close()
		return nil, err
	}
	g.log = r.log
	g.mini.Server().SetPreHook(g.before)
	if r.listener, err = net.Listen("tcp", addr); err != nil {
		g.mini.Close()
		return nil, errors.Join(fmt.Errorf("listen: %w", err), r.log.close())
	}
	r.accepts.Go(r.accept)
	return r, nil
}

func (r *loggedRedis) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mini.Server().ServeConn(conn)
	}
}

// close ends listening and all connections; commands that run are finished.
func (r *loggedRedis) close() {
	_ = r.listener.Close()
	r.accepts.Wait()
	r.mini.Close()
}

func (r *loggedRedis) stop(context.Context) error {
	r.close()
	return errors.Join(r.log.sync(), r.log.close())
}

func (r *loggedRedis) kill() error {
	r.close()
	return r.log.close()
}

// restore replays a log into a server of its own and returns the commands that lead to the same contents. A missing
// log is an empty one.
func restore(file string) ([]record, error) {
	records, err := readLog(file)
	if err != nil {
		return nil, err
	}
	g, err := newGate(nil)
	if err != nil {
		return nil, err
	}
	defer g.mini.Close()
	for _, r := range records {
		g.replay(r)
	}
	return snapshot(g.mini, g.tick())
}
