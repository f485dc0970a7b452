package servers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/test/servers/servertest"
)

func startRedis(ctx context.Context, t *testing.T, dir string) *servers.Redis {
	t.Helper()
	r, err := servers.StartEmbeddedRedis(ctx, process.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, r)
	return r
}

func redisClient(t interface{ Cleanup(func()) }, addr string) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: 5})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// printed receives the driver's output.
type printed struct{ lines chan string }

func (p printed) Printf(_ context.Context, format string, v ...any) {
	p.lines <- fmt.Sprintf(format, v...)
}

func TestWaitingForRedisPrintsNothing(t *testing.T) {
	p := printed{make(chan string, 1000)}
	goredis.SetLogger(p)
	t.Cleanup(logging.Enable)
	never := filepath.Join(t.TempDir(), "redis-server")
	if err := os.WriteFile(never, []byte("#!/bin/sh\nexec tail -f /dev/null\n"),
		0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(servertest.Context(t), time.Second)
	defer cancel()
	_, err := servers.StartRedisServer(ctx, process.Options{Dir: t.TempDir(), Binary: never})
	if err == nil || len(p.lines) > 0 {
		t.Errorf("%v; printed %d lines", err, len(p.lines))
	}
}

// contents reads every key with its type, value and expiry.
func contents(ctx context.Context, c *goredis.Client) (map[string]string, error) {
	keys, err := c.Keys(ctx, "*").Result()
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, key := range keys {
		kind, err := c.Type(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		value, err := valueOf(ctx, c, key, kind)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind, key, err)
		}
		expiry, err := c.PExpireTime(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		all[key] = fmt.Sprintf("%s %v expires %d", kind, value, expiry)
	}
	return all, nil
}

func valueOf(ctx context.Context, c *goredis.Client, key, kind string) (any, error) {
	switch kind {
	case "string":
		return c.Get(ctx, key).Result()
	case "hash":
		fields, err := c.HGetAll(ctx, key).Result()
		var pairs []string
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			pairs = append(pairs, field+"="+fields[field])
		}
		return pairs, err
	case "list":
		return c.LRange(ctx, key, 0, -1).Result()
	case "set":
		members, err := c.SMembers(ctx, key).Result()
		slices.Sort(members)
		return members, err
	case "zset":
		return c.ZRangeWithScores(ctx, key, 0, -1).Result()
	}
	return nil, errors.New("unexpected type")
}

// redisStep is one random write. Errors of the server, such as a wrong type, are expected.
type redisStep func(ctx context.Context, c *goredis.Client)

const countingScript = `local n = redis.call('INCR', KEYS[1])
redis.call('ZADD', KEYS[2], n, ARGV[1])
redis.call('PEXPIRE', KEYS[2], 7200000)
if n % 3 == 0 then return redis.error_reply('ERR third time') end
redis.call('SET', KEYS[3], redis.call('TIME')[1])
return n`

func drawStep(t *rapid.T) redisStep {
	key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "key")
	value := rapid.String().Draw(t, "value")
	score := rapid.Float64().Draw(t, "score")
	steps := map[string]redisStep{
		"set":  func(ctx context.Context, c *goredis.Client) { c.Set(ctx, key, value, 0) },
		"setx": func(ctx context.Context, c *goredis.Client) { c.Set(ctx, key, value, time.Hour) },
		"del":  func(ctx context.Context, c *goredis.Client) { c.Del(ctx, key) },
		"incr": func(ctx context.Context, c *goredis.Client) { c.Incr(ctx, key) },
		"hset": func(ctx context.Context, c *goredis.Client) { c.HSet(ctx, "h"+key, value, score) },
		"hdel": func(ctx context.Context, c *goredis.Client) { c.HDel(ctx, "h"+key, value) },
		"push": func(ctx context.Context, c *goredis.Client) { c.RPush(ctx, "l"+key, value, "x") },
		"pop":  func(ctx context.Context, c *goredis.Client) { c.LPop(ctx, "l"+key) },
		"sadd": func(ctx context.Context, c *goredis.Client) { c.SAdd(ctx, "s"+key, value, "x", "y", "z") },
		"spop": func(ctx context.Context, c *goredis.Client) { c.SPop(ctx, "s"+key) },
		"zadd": func(ctx context.Context, c *goredis.Client) {
			c.ZAdd(ctx, "z"+key, goredis.Z{Score: score, Member: value})
		},
		"expire":  func(ctx context.Context, c *goredis.Client) { c.PExpire(ctx, key, time.Hour) },
		"persist": func(ctx context.Context, c *goredis.Client) { c.Persist(ctx, key) },
		"rename":  func(ctx context.Context, c *goredis.Client) { c.Rename(ctx, key, "a") },
		"script": func(ctx context.Context, c *goredis.Client) {
			script := goredis.NewScript(countingScript)
			script.Run(ctx, c, []string{"n" + key, "m" + key, "t" + key}, value)
		},
	}
	return steps[rapid.SampledFrom(slices.Sorted(maps.Keys(steps))).Draw(t, "step")]
}

func TestRedisContentsAreTheSameAfterReplay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		dir, err := os.MkdirTemp("", "redisjournal")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		start := servers.StartEmbeddedRedis
		if rapid.Bool().Draw(rt, "rewrites all the time") {
			start = startRewriting
		}
		r, err := start(ctx, process.Options{Dir: dir})
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Stop(ctx)
		c := redisClient(rt, r.Addr())
		for range rapid.IntRange(1, 4).Draw(rt, "runs") {
			for range rapid.IntRange(0, 25).Draw(rt, "writes") {
				drawStep(rt)(ctx, c)
			}
			before, err := contents(ctx, c)
			if err != nil {
				rt.Fatal(err)
			}
			if rapid.Bool().Draw(rt, "kill") {
				err = r.Kill()
			}
			if err = errors.Join(err, r.Restart(ctx)); err != nil {
				rt.Fatal(err)
			}
			after, err := contents(ctx, c)
			if err != nil {
				rt.Fatal(err)
			}
			if !maps.Equal(before, after) {
				rt.Fatalf("before:\n%v\nafter:\n%v", before, after)
			}
		}
	})
}

func TestRedisKeepsAcknowledgedWritesWhenItsProcessIsKilled(t *testing.T) {
	ctx := servertest.Context(t)
	dir := t.TempDir()
	p := startParent(t, "redis", dir)
	c := redisClient(t, p.addr)
	for i := range 200 {
		if err := c.RPush(ctx, "list", i).Err(); err != nil {
			t.Fatal(err)
		}
	}
	p.kill()
	r := startRedis(ctx, t, dir)
	if r.Addr() != p.addr {
		t.Errorf("address %s, before %s", r.Addr(), p.addr)
	}
	if got, err := c.LLen(ctx, "list").Result(); err != nil || got != 200 {
		t.Errorf("%d items (%v), want 200", got, err)
	}
}

func TestRedisJournalEnd(t *testing.T) {
	cases := []struct {
		name   string
		damage func(raw []byte) []byte
		want   int64 // number of items, or -1 for a refused start
	}{
		{"whole", func(raw []byte) []byte { return raw }, 3},
		{"last line cut", func(raw []byte) []byte { return raw[:len(raw)-1] }, 2},
		{"half a line after the last one", func(raw []byte) []byte { return append(raw, "{\"at\":"...) }, 3},
		{"empty", func([]byte) []byte { return nil }, 0},
		{"a damaged line", func(raw []byte) []byte {
			return bytes.Replace(raw, []byte(`"command"`), []byte(`#command"`), 1)
		}, -1},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			ctx := servertest.Context(t)
			dir := t.TempDir()
			r := startRedis(ctx, t, dir)
			c := redisClient(t, r.Addr())
			for _, item := range []string{"first", "second", "third"} {
				if err := c.RPush(ctx, "list", item).Err(); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Kill(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "redis.journal")
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, tc.damage(raw), 0o644); err != nil {
				t.Fatal(err)
			}
			err = r.Restart(ctx)
			if tc.want < 0 {
				if !errors.Is(err, servers.ErrDamagedJournal) {
					t.Errorf("got %v, want ErrDamagedJournal", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.LLen(ctx, "list").Result(); err != nil || got != tc.want {
				t.Errorf("%d items (%v), want %d", got, err, tc.want)
			}
		})
	}
}

func TestRedisKeysExpireAlsoWhileTheServerIsStopped(t *testing.T) {
	ctx := servertest.Context(t)
	r := startRedis(ctx, t, t.TempDir())
	c := redisClient(t, r.Addr())
	if err := c.Set(ctx, "short", "x", 150*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.Set(ctx, "long", "x", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "expiry", func() error {
		if n, err := c.Exists(ctx, "short").Result(); err != nil || n != 0 {
			return fmt.Errorf("the key exists (%d, %w)", n, err)
		}
		return nil
	})
	if ttl, err := c.PTTL(ctx, "long").Result(); err != nil || ttl <= 59*time.Minute || ttl > time.Hour {
		t.Errorf("time to live %s (%v), want nearly an hour", ttl, err)
	}
}

func TestRedisStartShrinksTheJournal(t *testing.T) {
	ctx := servertest.Context(t)
	dir := t.TempDir()
	r := startRedis(ctx, t, dir)
	c := redisClient(t, r.Addr())
	for i := range 500 {
		if err := c.Set(ctx, "key", i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "redis.journal"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 100 {
		t.Errorf("the journal of one key has %d bytes", info.Size())
	}
}

func TestRedisRefusesWhatItCannotKeep(t *testing.T) {
	ctx := servertest.Context(t)
	r := startRedis(ctx, t, t.TempDir())
	c := redisClient(t, r.Addr())
	cases := [][]any{
		{"SELECT", "1"}, {"WATCH", "k"}, {"MULTI"}, {"XREAD", "STREAMS", "k", "0"},
		{"BLPOP", "k", "1"}, {"XADD", "k", "*", "a", "b"}, {"PFADD", "k", "a"},
		{"HEXPIRE", "h", "1", "FIELDS", "1", "f"}, {"COPY", "a", "b", "DB", "1"},
		{"EVAL", "return redis.call('XADD', KEYS[1], '*', 'a', 'b')", "1", "k"},
	}
	for _, command := range cases {
		t.Run(fmt.Sprint(command[0]), func(t *testing.T) {
			err := c.Do(ctx, command...).Err()
			if err == nil || !strings.Contains(err.Error(), "the embedded Redis") {
				t.Errorf("got %v, want a refusal", err)
			}
		})
	}
	if keys, err := c.Keys(ctx, "*").Result(); err != nil || len(keys) != 0 {
		t.Errorf("keys %v (%v), want none", keys, err)
	}
}

// redisOf returns the kind of server of a directory's Redis.
func redisOf(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "redis-server.log")); err == nil {
		return "redis-server"
	}
	return "embedded"
}

func TestRedisIsEmbeddedWhereNoneIsInstalled(t *testing.T) {
	ctx := servertest.Context(t)
	t.Setenv("PATH", t.TempDir())
	used := t.TempDir()
	if err := os.Mkdir(filepath.Join(used, "redis-server"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := servers.StartRedis(ctx, process.Options{Dir: used}); !errors.Is(err, process.ErrMissingTool) {
		t.Errorf("on a directory of redis-server: got %v, want ErrMissingTool", err)
	}
	dir := t.TempDir()
	r, err := servers.StartRedis(ctx, process.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, r)
	if got := redisOf(dir); got != "embedded" {
		t.Errorf("it is %s", got)
	}
}

// The embedded server must support every command in the scripts of stores and services. Otherwise they work only with
// a real server.
func TestTheEmbeddedRedisKnowsAllThatScriptsCall(t *testing.T) {
	called := map[string]bool{}
	calls := regexp.MustCompile(`redis\.p?call\(['"]([A-Za-z]+)`)
	for _, root := range []string{"../../services", "../../shared"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path) //nolint:gosec // our own
			for _, m := range calls.FindAllSubmatch(source, -1) {
				called[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(called) < 20 {
		t.Fatalf("scripts call %d commands: they are looked for in the wrong place", len(called))
	}
	c := redisClient(t, startRedis(servertest.Context(t), t, t.TempDir()).Addr())
	for command := range called {
		if err := c.Do(t.Context(), command).Err(); err != nil && strings.Contains(err.Error(), "does not support") {
			t.Errorf("%s: %v", command, err)
		}
	}
}
