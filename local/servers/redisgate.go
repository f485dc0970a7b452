package servers

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// clockStep is how coarsely the server's clock runs: each step costs a walk over all keys with an expiry.
const clockStep = 50 * time.Millisecond

// gate stands before every command of an embedded Redis. It lets one through at a time, as Redis does, so that the log
// has the order of execution; sets the clock; and logs what may write before it is executed.
type gate struct {
	mini   *miniredis.Miniredis
	log    *commandLog // nil while replaying
	failed func(error)

	mu   sync.Mutex // one command at a time
	last time.Time  // the server's clock, guarded by mu
	once sync.Once  // failed is called once

	peers    sync.Mutex // guards sessions
	sessions map[*server.Peer]*session
}

// session is the state of one connection.
type session struct {
	inside  bool       // a command that passed the gate is being executed
	inMulti bool       // between MULTI and EXEC or DISCARD
	queued  [][]string // what EXEC will execute
}

// newGate returns an empty server without a listener, and the gate that replays into it.
func newGate(failed func(error)) (*gate, error) {
	mini := miniredis.NewMiniRedis()
	conn, err := mini.Dial() // starts it
	if err != nil {
		return nil, fmt.Errorf("start embedded redis: %w", err)
	}
	_ = conn.Close()
	g := &gate{mini: mini, failed: failed, sessions: map[*server.Peer]*session{}}
	mini.Server().SetPreHook(g.before)
	return g, nil
}

// before is called by the server ahead of each command; true means that the command is done.
func (g *gate) before(peer *server.Peer, cmd string, args ...string) bool {
	s := g.session(peer)
	nested := s == nil
	if nested || s.inside {
		return nested && refuse(peer, cmd, args)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if refuse(peer, cmd, args) {
		return true
	}
	g.setClock(g.nextTick())
	full := append([]string{cmd}, args...)
	if err := g.record(s, full); err != nil {
		peer.WriteError("ERR " + err.Error())
		return true
	}
	g.execute(s, peer, full)
	return true
}

// execute runs a command that passed the gate.
func (g *gate) execute(s *session, peer *server.Peer, full []string) {
	s.inside = true
	defer func() { s.inside = false }()
	g.mini.Server().Dispatch(peer, full)
}

// session returns the state of a connection, made at its first command. Commands that a script calls come from a peer
// made for the script, which the server has given its own context already: they have no session.
func (g *gate) session(peer *server.Peer) *session {
	g.peers.Lock()
	defer g.peers.Unlock()
	if s, ok := g.sessions[peer]; ok || peer.Ctx != nil {
		return s
	}
	s := &session{}
	g.sessions[peer] = s
	peer.OnDisconnect(func() { g.forget(peer) })
	return s
}

func (g *gate) forget(peer *server.Peer) {
	g.peers.Lock()
	defer g.peers.Unlock()
	delete(g.sessions, peer)
}

// record logs what may write: single commands when they come, a transaction as a whole when it is executed.
func (g *gate) record(s *session, full []string) error {
	switch cmd := full[0]; {
	case cmd == "MULTI":
		s.inMulti, s.queued = true, nil
		return nil
	case cmd == "DISCARD":
		s.inMulti, s.queued = false, nil
		return nil
	case cmd == "EXEC":
		commands := append(append([][]string{{"MULTI"}}, s.queued...), full)
		s.inMulti, s.queued = false, nil
		return g.append(record{at: g.last, commands: commands})
	case s.inMulti:
		s.queued = append(s.queued, full)
		return nil
	case g.writes(cmd):
		return g.append(record{at: g.last, commands: [][]string{full}})
	}
	return nil
}

// append writes one record and makes chance repeatable: what is drawn depends on the record's time alone. When the log
// cannot be written, the server must not go on.
func (g *gate) append(r record) error {
	if err := g.log.append(r); err != nil {
		g.once.Do(func() { g.failed(err) })
		return err
	}
	g.mini.Seed(int(r.at.UnixNano()))
	return nil
}

// writes says whether a command may change the contents.
func (g *gate) writes(cmd string) bool {
	return !connectionCommands[cmd] && g.mini.Server().IsRegisteredCommand(cmd) && !g.mini.IsReadOnlyCommand(cmd)
}

// replay executes a record as it was executed first.
func (g *gate) replay(r record) {
	g.mu.Lock()
	defer g.mu.Unlock()
	peer := server.NewPeer(bufio.NewWriter(io.Discard))
	s := g.session(peer)
	defer g.forget(peer)
	g.setClock(r.at)
	g.mini.Seed(int(r.at.UnixNano()))
	for _, command := range r.commands {
		g.execute(s, peer, command)
	}
}

// tick moves the clock to the present and returns it.
func (g *gate) tick() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.setClock(g.nextTick())
	return g.last
}

// nextTick is the present, in steps, and never before the last tick.
func (g *gate) nextTick() time.Time {
	now := time.Now().Truncate(clockStep)
	if now.Before(g.last) {
		return g.last
	}
	return now
}

// setClock sets the server's clock. The first time also makes expiry follow it.
func (g *gate) setClock(t time.Time) {
	if t.Equal(g.last) {
		return
	}
	first := g.last.IsZero()
	g.last = t
	g.mini.SetTime(t)
	if first {
		g.mini.ClockTTL(true)
	}
}

// connectionCommands do not touch the contents, though the server does not mark them as reading only.
var connectionCommands = set("AUTH ECHO HELLO PING QUIT SELECT CLIENT CLUSTER COMMAND INFO TIME MEMORY OBJECT WAIT " +
	"SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE PUNSUBSCRIBE PUBLISH PUBSUB")

// refusedCommands cannot be brought back from the log: they depend on other connections, wait, or store what the
// rewritten log cannot express.
var refusedCommands = set("WATCH UNWATCH SWAPDB MOVE RESTORE " +
	"BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZMPOP BZPOPMAX BZPOPMIN " +
	"XADD XGROUP XREADGROUP XREAD XACK XDEL XTRIM XAUTOCLAIM XCLAIM " +
	"PFADD PFMERGE PFCOUNT HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HPERSIST HSETEX HGETEX")

func set(words string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(words) {
		all[word] = true
	}
	return all
}

// refuse answers a command that is not supported; false means that it is.
func refuse(peer *server.Peer, cmd string, args []string) bool {
	other := cmd == "SELECT" && len(args) == 1 && args[0] != "0"
	for _, arg := range args {
		other = other || cmd == "COPY" && strings.EqualFold(arg, "DB")
	}
	switch {
	case other:
		peer.WriteError("ERR the local Redis has only database 0")
	case refusedCommands[cmd]:
		peer.WriteError("ERR the local Redis does not support " + cmd)
	default:
		return false
	}
	return true
}
