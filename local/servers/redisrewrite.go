package servers

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// rewriteEvery is how long deleted contents may stay in the append-only file of a running redis-server.
const rewriteEvery = time.Minute

// Keep is the Keep of every server. For a redis-server it also rewrites the append-only file within a minute after a
// write. Until then, that file contains deleted contents. The embedded server does so by itself.
func (r *Redis) Keep(ctx context.Context) error {
	if r.appendOnly == "" {
		return r.Server.Keep(ctx)
	}
	rewriting, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.rewriteRegularly(rewriting, rewriteEvery)
	}()
	err := r.Server.Keep(ctx)
	stop()
	<-ended
	return err
}

// rewriteRegularly makes the server rewrite its append-only file once per period with a write, until ctx ends. If the
// server is down or already rewriting, the next try comes one period later.
func (r *Redis) rewriteRegularly(ctx context.Context, period time.Duration) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		written, err := r.writtenSinceRewrite()
		if err == nil && written {
			err = sendRedis(ctx, r.Addr(), "BGREWRITEAOF", "+Background")
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(r.log, "The append-only file of %s is not rewritten yet: %v.\n", nameRedisServer, err)
		}
	}
}

// writtenSinceRewrite reports whether the append-only file contains writes after the last rewrite.
func (r *Redis) writtenSinceRewrite() (bool, error) {
	files, err := filepath.Glob(filepath.Join(r.appendOnly, "*.incr.aof"))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if os.IsNotExist(err) { // a rewrite has just ended
			continue
		}
		if err != nil {
			return false, err
		}
		if info.Size() > 0 {
			return true, nil
		}
	}
	return false, nil
}

// sendRedis sends a command without arguments and checks the start of the answer. A driver's client would print the
// errors of a server that does not answer yet.
func sendRedis(ctx context.Context, addr, command, want string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // ends the wait for an answer
	if _, err := fmt.Fprintf(conn, "*1\r\n$%d\r\n%s\r\n", len(command), command); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(answer, want) {
		err = fmt.Errorf("answers %q, want %s", strings.TrimSpace(answer), want)
	}
	return err
}
