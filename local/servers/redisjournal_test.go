package servers_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/test/servers/servertest"
)

const (
	never  = 24 * time.Hour
	always = time.Millisecond
	huge   = 1 << 40
)

// startRewriting starts an embedded Redis that rewrites its journal all the time.
func startRewriting(ctx context.Context, o process.Options) (*servers.Redis, error) {
	return servers.StartRewritingRedis(ctx, o, huge, always)
}

// rewritingRedis starts an embedded Redis with bounds of its journal.
func rewritingRedis(
	ctx context.Context, t *testing.T, o process.Options, bytes int64, every time.Duration,
) *servers.Redis {
	t.Helper()
	r, err := servers.StartRewritingRedis(ctx, o, bytes, every)
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, r)
	return r
}

func journalOf(dir string) string { return filepath.Join(dir, "redis.journal") }

// journalHas reports whether the journal contains a word of a command.
func journalHas(t *testing.T, dir, word string) bool {
	t.Helper()
	raw, err := os.ReadFile(journalOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(raw, []byte(base64.StdEncoding.EncodeToString([]byte(word))))
}

func TestRedisJournalStaysInProportionToTheContents(t *testing.T) {
	const least = 4 << 10
	ctx := servertest.Context(t)
	dir := t.TempDir()
	r := rewritingRedis(ctx, t, process.Options{Dir: dir}, least, never)
	c := redisClient(t, r.Addr())
	written := 0
	for i := range 2000 {
		value := fmt.Sprintf("value %d %s", i, strings.Repeat("x", 100))
		if err := c.Set(ctx, fmt.Sprint("key", i%4), value, 0).Err(); err != nil {
			t.Fatal(err)
		}
		written += len(value)
	}
	eventually(ctx, t, "a short journal", func() error {
		info, err := os.Stat(journalOf(dir))
		if err == nil && info.Size() > 2*least {
			err = fmt.Errorf("%d bytes written, the journal has %d", written, info.Size())
		}
		return err
	})
	if err := errors.Join(r.Kill(), r.Restart(ctx)); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(ctx, "key3").Result(); err != nil || !strings.HasPrefix(got, "value 1999 ") {
		t.Errorf("got %q (%v), want the last value", got, err)
	}
}

func TestRedisJournalLosesWhatWasDeleted(t *testing.T) {
	const secret = "the word that is erased"
	removals := map[string]func(context.Context, *goredis.Client) error{
		"deleted":     func(ctx context.Context, c *goredis.Client) error { return c.Del(ctx, "user").Err() },
		"overwritten": func(ctx context.Context, c *goredis.Client) error { return c.Set(ctx, "user", "else", 0).Err() },
		"by a script": func(ctx context.Context, c *goredis.Client) error {
			return c.Eval(ctx, "return redis.call('DEL', KEYS[1])", []string{"user"}, "argument").Err()
		},
		"expired": func(ctx context.Context, c *goredis.Client) error { // later, without any command
			return c.PExpire(ctx, "user", 200*time.Millisecond).Err()
		},
	}
	for name, remove := range removals {
		t.Run(name, func(t *testing.T) {
			ctx := servertest.Context(t)
			dir := t.TempDir()
			c := redisClient(t, rewritingRedis(ctx, t, process.Options{Dir: dir}, huge, 10*time.Millisecond).Addr())
			if err := c.Set(ctx, "user", secret, 0).Err(); err != nil {
				t.Fatal(err)
			}
			if err := c.Set(ctx, "other", "stays", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if !journalHas(t, dir, secret) {
				t.Fatal("the journal never had the word")
			}
			if err := remove(ctx, c); err != nil {
				t.Fatal(err)
			}
			eventually(ctx, t, "a journal without the word", func() error {
				if journalHas(t, dir, secret) || journalHas(t, dir, "argument") {
					return errors.New("it is there")
				}
				return nil
			})
			if !journalHas(t, dir, "stays") {
				t.Error("the journal has lost another key")
			}
		})
	}
}

// The process dies during a rewrite of a journal of some megabytes. After the restart every acknowledged write is
// present exactly once.
func TestRedisKeepsAcknowledgedWritesWhenItsProcessIsKilledInARewrite(t *testing.T) {
	ctx := servertest.Context(t)
	dir := t.TempDir()
	acknowledged := int64(0)
	for round := range 5 {
		p := startParent(t, "rewriting redis", dir)
		c := redisClient(t, p.addr)
		if round == 0 {
			for i := range 50 {
				if err := c.Set(ctx, fmt.Sprint("ballast", i), strings.Repeat("x", 100_000), 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, err := c.LLen(ctx, "list").Result()
		if err != nil || got != acknowledged {
			t.Fatalf("round %d: %d items (%v), want %d", round, got, err, acknowledged)
		}
		for end := acknowledged + 20; acknowledged < end; acknowledged++ {
			if err := c.RPush(ctx, "list", acknowledged).Err(); err != nil {
				t.Fatal(err)
			}
		}
		first, err := os.Stat(journalOf(dir))
		if err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, "a rewrite has ended and another one has begun", func() error {
			if err := c.RPush(ctx, "list", acknowledged).Err(); err != nil {
				t.Fatal(err)
			}
			acknowledged++
			now, err := os.Stat(journalOf(dir))
			if err == nil && os.SameFile(first, now) {
				err = errors.New("none has ended")
			}
			_, missing := os.Stat(journalOf(dir) + ".new")
			return errors.Join(err, missing)
		})
		p.kill()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c := redisClient(t, startRedis(ctx, t, dir).Addr())
	if got, err := c.LLen(ctx, "list").Result(); err != nil || got != acknowledged {
		t.Errorf("%d items (%v), want %d", got, err, acknowledged)
	}
	if n, err := c.StrLen(ctx, "ballast49").Result(); err != nil || n != 100_000 {
		t.Errorf("a value has %d bytes (%v), want 100000", n, err)
	}
	if _, err := os.Stat(journalOf(dir) + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the unfinished journal stays: %v", err)
	}
}

func TestRedisGoesOnWhileItsJournalCannotBeRewritten(t *testing.T) {
	ctx := servertest.Context(t)
	dir := t.TempDir()
	lines := make(linesOf, 1000)
	r := rewritingRedis(ctx, t, process.Options{Dir: dir, Log: lines}, huge, 10*time.Millisecond)
	c := redisClient(t, r.Addr())
	obstacle := journalOf(dir) + ".new"
	if err := os.MkdirAll(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.Set(ctx, "key", "a value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	select {
	case line := <-lines:
		if !strings.Contains(line, "journal") || !strings.Contains(line, obstacle) || strings.Contains(line, "a value") {
			t.Errorf("it says %q", line)
		}
	case <-ctx.Done():
		t.Fatal("nobody is told")
	}
	if err := c.Del(ctx, "key").Err(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "the next rewrite", func() error {
		if journalHas(t, dir, "a value") {
			return errors.New("the journal has the deleted value")
		}
		return nil
	})
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

// linesOf forwards written lines while its channel has room.
type linesOf chan string

func (l linesOf) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

// BenchmarkRedisRewrite measures the longest wait of a command, and a limit for the wait of most commands, during
// continuous rewrites.
func BenchmarkRedisRewrite(b *testing.B) {
	for _, keys := range []int{1_000, 10_000, 100_000} {
		for name, every := range map[string]time.Duration{"idle": never, "rewriting": always} {
			b.Run(fmt.Sprintf("keys=%d/%s", keys, name), func(b *testing.B) {
				r, err := servers.StartRewritingRedis(b.Context(), process.Options{Dir: b.TempDir()}, huge, every)
				if err != nil {
					b.Fatal(err)
				}
				defer r.Stop(context.WithoutCancel(b.Context()))
				c := redisClient(b, r.Addr())
				for i := range keys {
					if err := c.HSet(b.Context(), fmt.Sprint("key", i), "a", strings.Repeat("x", 300), "b", i).Err(); err != nil {
						b.Fatal(err)
					}
				}
				longest := time.Duration(0)
				for b.Loop() {
					began := time.Now()
					if err := c.Set(b.Context(), "key", "value", 0).Err(); err != nil {
						b.Fatal(err)
					}
					longest = max(longest, time.Since(began))
				}
				b.ReportMetric(float64(longest.Microseconds())/1000, "longest-ms")
			})
		}
	}
}
