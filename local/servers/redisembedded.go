package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	resp "github.com/alicebob/miniredis/v2/server"

	"github.com/mneme-memory/mneme/local/process"
)

// clockStep is the step of the embedded server's clock. Each step visits all keys with an expiry.
const clockStep = 50 * time.Millisecond

// The embedded server accepts these commands and all read commands; it refuses every other one. Writes go to its
// journal. The other commands do not change the contents, though the server does not mark them as read-only.
var (
	writeCommands = set("APPEND DEL EVAL EVALSHA EXPIRE FLUSHALL HDEL HINCRBY HSET HSETNX INCR INCRBY LPOP LPUSH LREM " +
		"LTRIM PERSIST PEXPIRE PEXPIREAT RENAME RPOP RPUSH SADD SCRIPT SET SETEX SPOP SREM UNLINK ZADD ZINCRBY ZREM " +
		"ZREMRANGEBYRANK ZREMRANGEBYSCORE")
	connectionCommands = set("AUTH CLIENT COMMAND ECHO HELLO INFO PING QUIT TIME")
)

func set(words string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(words) {
		all[word] = true
	}
	return all
}

// StartEmbeddedRedis starts a Redis inside this process on the directory. Each write goes to a journal before it is
// executed, and the next start replays the journal. So acknowledged writes survive a kill -9 of this process; a power
// cut may lose the last ones.
//
// The start rewrites the journal to the present contents. A running server rewrites a journal above 1 MiB when its
// size has doubled. Otherwise it rewrites the journal within a minute after a write or an expiry. Until a rewrite,
// the journal contains deleted data.
//
// The server has strings, hashes, lists, sets and sorted sets with expiry. It runs Lua scripts, which must not use
// math.random. It accepts the commands that the stores need and refuses others. Expiry is accurate to 50 ms. Each
// rewrite removes the scripts that clients loaded, as a restart does.
func StartEmbeddedRedis(ctx context.Context, o process.Options) (*Redis, error) {
	return startEmbeddedRedis(ctx, o, usualBounds)
}

func startEmbeddedRedis(ctx context.Context, o process.Options, bounds journalBounds) (*Redis, error) {
	o, err := o.Prepare()
	if err != nil {
		return nil, err
	}
	open := func(_ context.Context, p process.Ports, failed func(error)) (process.Execution, error) {
		r, err := openEmbeddedRedis(filepath.Join(o.Dir, journalFile), p.Addr(roleRedis))
		if err != nil {
			return nil, err
		}
		r.failed, r.bounds, r.log = failed, bounds, o.Log
		r.serve()
		return r, nil
	}
	s, err := process.Start(ctx, nameRedis, o, open, roleRedis)
	if err != nil {
		return nil, err
	}
	return &Redis{Server: s}, nil
}

// embeddedRedis is one execution of the embedded server. It accepts connections itself, and serves none before the
// contents are restored.
type embeddedRedis struct {
	mini     *miniredis.Miniredis
	listener net.Listener
	failed   func(error)
	bounds   journalBounds
	log      io.Writer // receives a line when a rewrite of the journal fails

	work    sync.WaitGroup // goroutines that accept connections and rewrite the journal
	closing chan struct{}
	grown   chan struct{} // receives a value when the journal is large

	mu      sync.Mutex // one command at a time, as in Redis, so that the journal has the order of execution
	clock   time.Time
	journal *journal
	asked   bool  // a rewrite is due because the journal is large
	broken  error // set when the journal may end in an incomplete line

	running   atomic.Pointer[resp.Peer] // the connection of the running command
	connected sync.Map                  // the *resp.Peer of every connection
}

// openEmbeddedRedis restores the contents, rewrites the journal to them and then listens.
func openEmbeddedRedis(file, addr string) (_ *embeddedRedis, err error) {
	kept, err := restoreFile(file)
	if err != nil {
		return nil, err
	}
	written, err := createJournal(file, kept)
	if err != nil {
		return nil, fmt.Errorf("rewrite redis journal: %w", err)
	}
	if err := errors.Join(written.install(), written.sync()); err != nil {
		return nil, errors.Join(fmt.Errorf("rewrite redis journal: %w", err), written.file.Close())
	}
	// A second server, filled from the rewritten journal only, has exactly the contents of the next start. The first
	// server also has scripts that the journal no longer contains.
	r, err := newEmbeddedRedis(kept.entries)
	if err != nil {
		return nil, errors.Join(err, written.file.Close())
	}
	r.journal = written
	if r.listener, err = net.Listen("tcp", addr); err != nil {
		r.mini.Close()
		return nil, errors.Join(fmt.Errorf("listen: %w", err), written.file.Close())
	}
	return r, nil
}

// serve accepts connections and rewrites the journal until close.
func (r *embeddedRedis) serve() {
	r.work.Go(func() {
		for {
			conn, err := r.listener.Accept()
			if err != nil {
				return
			}
			r.mini.Server().ServeConn(conn)
		}
	})
	r.work.Go(r.rewriteWhenDue)
}

// rewriteWhenDue rewrites the journal when it is large. It also rewrites regularly while the journal may contain
// deleted data.
func (r *embeddedRedis) rewriteWhenDue() {
	tick := time.NewTicker(r.bounds.every)
	defer tick.Stop()
	for {
		select {
		case <-r.closing:
			return
		case <-r.grown:
		case <-tick.C:
			r.mu.Lock()
			due := r.journal.outdated(time.Now())
			r.mu.Unlock()
			if !due {
				continue
			}
		}
		if err := r.rewrite(); err != nil {
			fmt.Fprintf(r.log, "redis keeps a journal that it cannot rewrite, and retries in %v: %v\n", r.bounds.every, err)
		}
	}
}

// rewrite replaces the journal by a journal of the present contents. Another server computes the contents from the
// journal, so commands wait only during the copy of the latest lines. After a kill at any moment, either the old or
// the new journal is there, complete.
func (r *embeddedRedis) rewrite() error {
	old, until, err := r.endScripts()
	if err != nil {
		return err
	}
	kept, err := restore(io.NewSectionReader(old.file, 0, until), old.path, time.Time{})
	if err != nil {
		return err
	}
	next, err := createJournal(old.path, kept)
	if err != nil {
		return err
	}
	if err := r.replace(next, until); err != nil {
		return errors.Join(err, next.discard())
	}
	return errors.Join(next.sync(), old.file.Close())
}

// endScripts removes all scripts, as the new journal will, and returns the journal with its size.
func (r *embeddedRedis) endScripts() (*journal, int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setClock(laterOf(r.clock, time.Now()))
	err := r.run(resp.NewPeer(bufio.NewWriter(io.Discard)), []string{"SCRIPT", "FLUSH"})
	return r.journal, r.journal.size, err
}

// replace continues with a new journal, after it has copied the old journal's lines from an offset.
func (r *embeddedRedis) replace(next *journal, from int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	if err := next.follow(r.journal, from); err != nil {
		return err
	}
	if err := next.install(); err != nil {
		return err
	}
	r.journal, r.asked = next, false
	r.askWhenLarge() // if many writes came meanwhile
	return nil
}

// newEmbeddedRedis returns a server without a listener that has executed the commands.
func newEmbeddedRedis(contents []entry) (*embeddedRedis, error) {
	r := &embeddedRedis{mini: miniredis.NewMiniRedis(), closing: make(chan struct{}), grown: make(chan struct{}, 1)}
	conn, err := r.mini.Dial() // starts it
	if err != nil {
		return nil, fmt.Errorf("start embedded redis: %w", err)
	}
	_ = conn.Close()
	r.mini.Server().SetPreHook(r.before)
	r.mu.Lock()
	defer r.mu.Unlock()
	peer := resp.NewPeer(bufio.NewWriter(io.Discard))
	for _, e := range contents {
		var command []string
		for _, word := range e.Command {
			command = append(command, string(word))
		}
		r.setClock(e.At)
		r.execute(peer, command)
	}
	return r, nil
}

// close stops listening, closes all connections and ends rewrites. Running commands finish.
func (r *embeddedRedis) close() {
	_ = r.listener.Close()
	close(r.closing)
	r.work.Wait()
	r.mini.Close()
}

// Stop syncs the journal.
func (r *embeddedRedis) Stop(context.Context) error {
	r.close()
	return errors.Join(r.journal.file.Sync(), r.journal.file.Close())
}

// Kill leaves the journal as it is.
func (r *embeddedRedis) Kill() error {
	r.close()
	return r.journal.file.Close()
}

// before runs ahead of each command. True means that the command is done.
func (r *embeddedRedis) before(peer *resp.Peer, cmd string, args ...string) bool {
	if r.running.Load() == peer {
		return false
	}
	if _, known := r.connected.Load(peer); !known {
		if peer.Ctx != nil { // a script's command; the journal already has the script itself
			return r.refuse(peer, cmd)
		}
		r.connected.Store(peer, nil)
		peer.OnDisconnect(func() { r.connected.Delete(peer) })
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse(peer, cmd) {
		return true
	}
	if now := laterOf(r.clock, time.Now()); now.After(r.clock) {
		r.setClock(now)
	}
	if err := r.run(peer, append([]string{cmd}, args...)); err != nil {
		peer.WriteError("ERR " + err.Error())
	}
	return true
}

// run records a command and executes it.
func (r *embeddedRedis) run(peer *resp.Peer, command []string) error {
	if err := r.record(command); err != nil {
		return err
	}
	r.execute(peer, command)
	return nil
}

// refuse answers a command that a replay of the journal could not restore. It returns false for an allowed command.
func (r *embeddedRedis) refuse(peer *resp.Peer, cmd string) bool {
	// it may block
	if writeCommands[cmd] || connectionCommands[cmd] || r.mini.Server().IsReadOnlyCommand(cmd) && cmd != "XREAD" {
		return false
	}
	peer.WriteError("ERR the embedded Redis does not support " + cmd)
	return true
}

// record appends a write to the journal. After a failure the server must not continue.
func (r *embeddedRedis) record(command []string) error {
	if !writeCommands[command[0]] || r.broken != nil {
		return r.broken
	}
	e := entry{At: r.clock}
	for _, word := range command {
		e.Command = append(e.Command, []byte(word))
	}
	if err := r.journal.append(e.line()); err != nil {
		r.broken = fmt.Errorf("append to redis journal: %w", err)
		r.failed(r.broken)
	}
	r.askWhenLarge()
	return r.broken
}

// askWhenLarge requests one rewrite of a large journal. After a failure the ticker decides on the next try.
func (r *embeddedRedis) askWhenLarge() {
	if r.asked || !r.journal.large(r.bounds) {
		return
	}
	r.asked = true
	select {
	case r.grown <- struct{}{}:
	default: // a request is already pending
	}
}

// execute runs a permitted command. Random choices depend on the time only, so that a replay makes the same choices.
func (r *embeddedRedis) execute(peer *resp.Peer, command []string) {
	r.mini.Seed(int(r.clock.UnixNano()))
	r.running.Store(peer)
	defer r.running.Store(nil)
	r.mini.Server().Dispatch(peer, command)
}

// laterOf returns a clock's next time: now, unless the clock is ahead of now.
func laterOf(clock, now time.Time) time.Time {
	if now = now.Truncate(clockStep); now.After(clock) {
		return now
	}
	return clock
}

// setClock sets the server's clock. From the first call on, expiry follows this clock.
func (r *embeddedRedis) setClock(t time.Time) {
	if first := r.clock.IsZero(); first {
		defer r.mini.ClockTTL(true)
	}
	r.clock = t
	r.mini.SetTime(t)
}
