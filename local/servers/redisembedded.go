package servers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	resp "github.com/alicebob/miniredis/v2/server"
)

// ErrDamagedJournal is returned when the journal of the embedded Redis cannot be read although it is not merely cut off.
var ErrDamagedJournal = errors.New("redis journal damaged")

const (
	journalSuffix = ".journal"
	// clockStep is how coarsely the embedded server's clock runs: each step costs a walk over all keys with an expiry.
	clockStep = 50 * time.Millisecond
)

// The commands that the embedded server accepts besides those that only read. Writes go to its journal; the others do
// not touch the contents, though the server does not mark them as reading only. Everything else is refused.
var (
	writeCommands = set("APPEND DEL EVAL EVALSHA EXPIRE FLUSHALL HDEL HINCRBY HSET HSETNX INCR INCRBY LPOP LPUSH LREM LTRIM PERSIST " +
		"PEXPIRE PEXPIREAT RENAME RPOP RPUSH SADD SCRIPT SET SETEX SPOP SREM UNLINK ZADD ZINCRBY ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE")
	connectionCommands = set("AUTH CLIENT COMMAND ECHO HELLO INFO PING QUIT TIME")
)

func set(words string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(words) {
		all[word] = true
	}
	return all
}

// StartEmbeddedRedis starts a Redis inside this process on the directory. Each write is appended to a journal before it
// is executed and replayed at the next start: acknowledged writes survive a kill -9 of this process (a power cut may
// lose the last ones). The start rewrites the journal to the present contents, so its size is bounded by what was
// written since.
//
// It holds strings, hashes, lists, sets and sorted sets with expiry, and runs Lua scripts, which must not use
// math.random. It knows the commands that the stores need; others it refuses. Expiry is accurate to 50 ms.
func StartEmbeddedRedis(ctx context.Context, o Options) (*Redis, error) {
	o, err := o.prepare()
	if err != nil {
		return nil, err
	}
	open := func(_ context.Context, p ports, failed func(error)) (execution, error) {
		return openEmbeddedRedis(o.file(nameRedis, journalSuffix), p.addr(roleRedis), failed)
	}
	s, err := startServer(ctx, nameRedis, o, open, roleRedis)
	if err != nil {
		return nil, err
	}
	return &Redis{s}, nil
}

// entry is one line of the journal: a command, and the server's time at which it ran.
type entry struct {
	At      time.Time `json:"at"`
	Command [][]byte  `json:"command"`
}

// embeddedRedis is one execution of the embedded server. It accepts connections itself, so that none is served before
// the contents are restored.
type embeddedRedis struct {
	mini     *miniredis.Miniredis
	listener net.Listener
	accepts  sync.WaitGroup
	failed   func(error)

	mu      sync.Mutex // one command at a time, as in Redis, so that the journal has the order of execution
	clock   time.Time
	journal *os.File
	broken  error // set when the journal may end in half a line

	running   atomic.Pointer[resp.Peer] // the connection whose command was let through
	connected sync.Map                  // the *resp.Peer of every connection
}

// openEmbeddedRedis restores the contents, rewrites the journal to them and then listens.
func openEmbeddedRedis(file, addr string, failed func(error)) (_ execution, err error) {
	contents, err := restore(file)
	if err != nil {
		return nil, err
	}
	var lines []byte
	for _, e := range contents {
		lines = append(lines, e.line()...)
	}
	if err := replaceFile(file, lines); err != nil {
		return nil, fmt.Errorf("rewrite redis journal: %w", err)
	}
	// A second server, filled from the rewritten journal alone, has exactly what the next start will find. The first one
	// also knows scripts that the journal no longer holds.
	r, err := newEmbeddedRedis(contents)
	if err != nil {
		return nil, err
	}
	r.failed = failed
	if r.journal, err = os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		r.mini.Close()
		return nil, fmt.Errorf("open redis journal: %w", err)
	}
	if r.listener, err = net.Listen("tcp", addr); err != nil {
		r.mini.Close()
		return nil, errors.Join(fmt.Errorf("listen: %w", err), r.journal.Close())
	}
	r.accepts.Go(func() {
		for {
			conn, err := r.listener.Accept()
			if err != nil {
				return
			}
			r.mini.Server().ServeConn(conn)
		}
	})
	return r, nil
}

// newEmbeddedRedis returns a server without a listener that has executed the commands.
func newEmbeddedRedis(contents []entry) (*embeddedRedis, error) {
	r := &embeddedRedis{mini: miniredis.NewMiniRedis()}
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

// close ends listening and all connections; commands that run are finished.
func (r *embeddedRedis) close() {
	_ = r.listener.Close()
	r.accepts.Wait()
	r.mini.Close()
}

func (r *embeddedRedis) stop(context.Context) error {
	r.close()
	return errors.Join(r.journal.Sync(), r.journal.Close())
}

func (r *embeddedRedis) kill() error {
	r.close()
	return r.journal.Close()
}

// before is called by the server ahead of each command; true means that the command is done.
func (r *embeddedRedis) before(peer *resp.Peer, cmd string, args ...string) bool {
	if r.running.Load() == peer {
		return false
	}
	if _, known := r.connected.Load(peer); !known {
		if peer.Ctx != nil { // made for a script's command; the script itself was written to the journal
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
	if now := time.Now().Truncate(clockStep); now.After(r.clock) {
		r.setClock(now)
	}
	command := append([]string{cmd}, args...)
	if err := r.record(command); err != nil {
		peer.WriteError("ERR " + err.Error())
		return true
	}
	r.execute(peer, command)
	return true
}

// refuse answers a command that could not be brought back from the journal; false means that there is none to refuse.
func (r *embeddedRedis) refuse(peer *resp.Peer, cmd string) bool {
	if writeCommands[cmd] || connectionCommands[cmd] || r.mini.Server().IsReadOnlyCommand(cmd) && cmd != "XREAD" { // it may wait
		return false
	}
	peer.WriteError("ERR the embedded Redis does not support " + cmd)
	return true
}

// record hands a write to the operating system, which keeps it when this process dies. When it cannot be written, the
// server must not go on.
func (r *embeddedRedis) record(command []string) error {
	if !writeCommands[command[0]] || r.broken != nil {
		return r.broken
	}
	e := entry{At: r.clock}
	for _, word := range command {
		e.Command = append(e.Command, []byte(word))
	}
	if _, err := r.journal.Write(e.line()); err != nil {
		r.broken = fmt.Errorf("append to redis journal: %w", err)
		r.failed(r.broken)
	}
	return r.broken
}

// execute runs a command that may run. What is drawn by chance depends on the time alone, so that a replay draws the same.
func (r *embeddedRedis) execute(peer *resp.Peer, command []string) {
	r.mini.Seed(int(r.clock.UnixNano()))
	r.running.Store(peer)
	defer r.running.Store(nil)
	r.mini.Server().Dispatch(peer, command)
}

// setClock sets the server's clock. The first time also makes expiry follow it.
func (r *embeddedRedis) setClock(t time.Time) {
	if first := r.clock.IsZero(); first {
		defer r.mini.ClockTTL(true)
	}
	r.clock = t
	r.mini.SetTime(t)
}

// line is the entry as the journal has it.
func (e entry) line() []byte {
	raw, _ := json.Marshal(e) // a time and bytes always have a form in JSON
	return append(raw, '\n')
}

// restore replays a journal and returns the commands that lead to the same contents. A missing journal is an empty one; a
// line cut off at the end was never acknowledged and is left out.
func restore(file string) ([]entry, error) {
	raw, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read redis journal: %w", err)
	}
	var entries []entry
	for line := range bytes.Lines(raw) {
		var e entry
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if err := json.Unmarshal(line, &e); err != nil || len(e.Command) == 0 {
			return nil, fmt.Errorf("%w: %s, line %d (%w)", ErrDamagedJournal, file, len(entries)+1, err)
		}
		entries = append(entries, e)
	}
	r, err := newEmbeddedRedis(entries)
	if err != nil {
		return nil, err
	}
	defer r.mini.Close()
	return r.contents()
}

// contents are the commands that recreate every key, expiry included.
func (r *embeddedRedis) contents() ([]entry, error) {
	now := time.Now().Truncate(clockStep)
	if now.Before(r.clock) {
		now = r.clock
	}
	r.setClock(now)
	var entries []entry
	add := func(words ...string) {
		e := entry{At: now}
		for _, word := range words {
			e.Command = append(e.Command, []byte(word))
		}
		entries = append(entries, e)
	}
	for _, key := range r.mini.Keys() {
		words, err := r.recreate(key)
		if err != nil {
			return nil, fmt.Errorf("read key of embedded redis: %w", err)
		}
		add(words...)
		if ttl := r.mini.TTL(key); ttl > 0 {
			// Rounded up, because a millisecond is the finest that can be set and none is not "soon".
			add("PEXPIREAT", key, strconv.FormatInt(now.Add(ttl+time.Millisecond-1).UnixMilli(), 10))
		}
	}
	return entries, nil
}

// recreate is the command that makes a key with its present value.
func (r *embeddedRedis) recreate(key string) ([]string, error) {
	switch kind := r.mini.Type(key); kind {
	case "string":
		value, err := r.mini.Get(key)
		return []string{"SET", key, value}, err
	case "hash":
		fields, err := r.mini.HKeys(key)
		words := []string{"HSET", key}
		for _, field := range fields {
			words = append(words, field, r.mini.HGet(key, field))
		}
		return words, err
	case "list":
		items, err := r.mini.List(key)
		return append([]string{"RPUSH", key}, items...), err
	case "set":
		members, err := r.mini.Members(key)
		return append([]string{"SADD", key}, members...), err
	case "zset":
		scores, err := r.mini.SortedSet(key)
		words := []string{"ZADD", key}
		for _, member := range slices.Sorted(maps.Keys(scores)) {
			words = append(words, strconv.FormatFloat(scores[member], 'g', -1, 64), member)
		}
		return words, err
	default:
		return nil, fmt.Errorf("type %q cannot be kept", kind)
	}
}
