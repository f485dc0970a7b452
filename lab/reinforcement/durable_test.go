package reinforcement_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/mneme-memory/mneme/lab/checkpoint"
	checkpointredis "github.com/mneme-memory/mneme/lab/checkpoint/redis"
	"github.com/mneme-memory/mneme/lab/distributed"
	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/shared/fault"
)

// The test binary is also the workers' program, since the test kills the workers.
const envWorker = "MNEME_TEST_WORKER"

func TestMain(m *testing.M) {
	if hangs := os.Getenv(envWorker); hangs != "" {
		if err := work(hangs, os.Getenv("TEMPORAL"), os.Getenv("REDIS")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// Places where a worker hangs until the test kills it.
const (
	inRoll, inLearn       = "in a rollout", "in an update"
	afterRoll, afterLearn = "after a rollout that was kept", "after an update that was kept"
	nowhere               = "nowhere"
)

// work is the worker's program. It writes a line when it hangs.
func work(hangs, temporal, redis string) error {
	c, err := dial(context.Background(), temporal)
	if err != nil {
		return err
	}
	store, _, err := openStore(redis)
	if err != nil {
		return err
	}
	w := distributed.Worker(c, &distributed.Activities{Trainer: hanging{at: hangs}, Store: hangingStore{store, hangs}}, 2)
	return w.Run(nil) // until the test kills it
}

func hang(here, at string) {
	if here == at {
		fmt.Println("hangs")
		select {}
	}
}

type hanging struct {
	reinforcement.Durable
	at string
}

func (h hanging) Roll(ctx context.Context, options, state []byte, person int) ([]byte, error) {
	hang(inRoll, h.at)
	return h.Durable.Roll(ctx, options, state, person)
}

func (h hanging) Learn(options, state []byte, rolled iter.Seq2[[]byte, error]) ([]byte, error) {
	hang(inLearn, h.at)
	return h.Durable.Learn(options, state, rolled)
}

type hangingStore struct {
	checkpoint.Store
	at string
}

func (h hangingStore) Put(ctx context.Context, run, key string, body []byte) error {
	err := h.Store.Put(ctx, run, key, body)
	switch {
	case strings.HasPrefix(key, "rolled/"):
		hang(afterRoll, h.at)
	case strings.HasPrefix(key, "state/") && key != "state/0":
		hang(afterLearn, h.at)
	}
	return err
}

func dial(ctx context.Context, addr string) (client.Client, error) {
	return client.DialContext(ctx, client.Options{HostPort: addr,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
}

func openStore(addr string) (checkpoint.Store, func() error, error) {
	c := goredis.NewClient(&goredis.Options{Addr: addr})
	s, err := checkpointredis.New(c, checkpointredis.Options{TTL: time.Hour})
	return s, c.Close, err
}

// tiny returns options of a short training of two updates.
func tiny(r reinforcement.Reward) reinforcement.Options {
	o := small(r)
	o.Sessions, o.Group = 2, 2
	return o
}

func asJSON(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A training by bytes ends with the same result as a training by values, for each reward.
func TestATrainingOfBytesEndsAsOneOfValues(t *testing.T) {
	for _, r := range reinforcement.Rewards() {
		t.Run(string(r), func(t *testing.T) {
			o, d := tiny(r), reinforcement.Durable{}
			o.Together = 1 + len(r)%2
			if r == reinforcement.RewardDense {
				o.Weak, o.Hidden = false, 4
			}
			want, err := reinforcement.Train(t.Context(), o, reinforcement.Start(o), nil)
			if err != nil {
				t.Fatal(err)
			}
			options := asJSON(t, o)
			state, err := d.Start(options)
			for err == nil {
				var people []int
				if people, err = d.Next(options, state); len(people) == 0 {
					break
				}
				before := state
				state, err = d.Learn(options, state, func(yield func([]byte, error) bool) {
					for _, person := range people {
						if !yield(d.Roll(t.Context(), options, before, person)) {
							return
						}
					}
				})
			}
			if err != nil || !bytes.Equal(state, asJSON(t, want)) {
				t.Errorf("ended otherwise, %v:\n%s\n%s", err, state, asJSON(t, want))
			}
		})
	}
}

func TestBytesOfAnotherProgramAreRefused(t *testing.T) {
	d := reinforcement.Durable{}
	good := asJSON(t, tiny(reinforcement.RewardTransition))
	state, err := d.Start(good)
	if err != nil {
		t.Fatal(err)
	}
	bad := tiny(reinforcement.RewardTransition)
	bad.Persons = 0
	nothing := func(yield func([]byte, error) bool) { yield(nil, nil) }
	for name, c := range map[string]struct {
		call func() error
		want string
	}{
		"options out of range":   {func() error { _, err := d.Start(asJSON(t, bad)); return err }, "persons"},
		"options that are none":  {func() error { _, err := d.Start([]byte("x")); return err }, "options"},
		"a setting of another":   {func() error { _, err := d.Start([]byte(`{"cook":1}`)); return err }, "options"},
		"a state that is none":   {func() error { _, err := d.Next(good, []byte(`{"Cook":1}`)); return err }, "state"},
		"a person who is none":   {func() error { _, err := d.Roll(t.Context(), good, state, 2); return err }, "person"},
		"rollouts that are none": {func() error { _, err := d.Learn(good, state, nothing); return err }, "rollouts"},
	} {
		if err := c.call(); !fault.IsTerminal(err) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// cluster has the servers of a training.
type cluster struct {
	temporal *servers.Temporal
	redis    *servers.Redis
	client   client.Client
	store    checkpoint.Store
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	var c cluster
	var err error
	if c.temporal, err = servers.StartTemporal(t.Context(), process.Options{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	stop := func(s interface{ Stop(context.Context) error }) {
		t.Cleanup(func() {
			if err := s.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	stop(c.temporal)
	if c.redis, err = servers.StartEmbeddedRedis(t.Context(), process.Options{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	stop(c.redis)
	if c.client, err = dial(t.Context(), c.temporal.Addr()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.Close)
	var free func() error
	if c.store, free, err = openStore(c.redis.Addr()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = free() })
	return &c
}

// worker starts a process that hangs at a place. It returns a function that waits for the hang, and a function that
// kills the process.
func (c *cluster) worker(t *testing.T, hangs string) (wait, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envWorker+"="+hangs, "TEMPORAL="+c.temporal.Addr(), "REDIS="+c.redis.Addr())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait = func() {
		t.Helper()
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Errorf("the worker that hangs %s wrote %q, %v", hangs, line, err)
		}
	}
	return wait, func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait() // returns the error of the kill
	}
}

// A training continues after SIGKILL at any place of a worker or server. It ends with the same bytes as a training in
// one process.
func TestATrainingSurvivesKills(t *testing.T) {
	o := tiny(reinforcement.RewardTransition)
	want, err := reinforcement.Train(t.Context(), o, reinforcement.Start(o), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := startCluster(t)
	starter := distributed.Starter{Client: c.client, Store: c.store, Updates: 1} // so that a new history begins, too
	var people atomic.Int64
	var got []byte
	unkept, end := errors.New("no space left"), make(chan error, 1)
	go func() {
		end <- starter.Train(t.Context(), asJSON(t, o), func(p distributed.Progress) { people.Store(int64(p.People)) },
			func(state []byte) error { got = state; return unkept })
	}()
	for _, hangs := range []string{inRoll, inLearn, afterRoll, afterLearn} {
		wait, kill := c.worker(t, hangs)
		wait()
		kill()
		switch hangs {
		case inRoll:
			if err := errors.Join(c.temporal.Kill(), c.temporal.Restart(t.Context())); err != nil {
				t.Fatal(err)
			}
		case inLearn:
			if err := errors.Join(c.redis.Kill(), c.redis.Restart(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, kill := c.worker(t, nowhere)
	err = <-end
	kill()
	if !errors.Is(err, unkept) {
		t.Fatal(err)
	}
	var s reinforcement.State
	if err := json.Unmarshal(got, &s); err != nil {
		t.Fatal(err)
	}
	encoded, err := s.Policy.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if policy, err := want.Policy.Encode(); err != nil || !bytes.Equal(encoded, policy) ||
		!bytes.Equal(got, asJSON(t, want)) {
		t.Errorf("the policy is another, %v:\n%s\n%s", err, encoded, policy)
	}
	if n := people.Load(); n < 1 || n > 2 {
		t.Errorf("told of %d people", n)
	}
	// The starter finds a finished and unsaved result again, without any worker. After the save, the result is gone.
	err = starter.Train(t.Context(), asJSON(t, o), nil, func(state []byte) error {
		if !bytes.Equal(state, got) {
			t.Error("another state is found again")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	c.wantEmpty(t)
}

// wantEmpty checks that the store is empty.
func (c *cluster) wantEmpty(t *testing.T) {
	t.Helper()
	keys := goredis.NewClient(&goredis.Options{Addr: c.redis.Addr()})
	defer keys.Close()
	if left, err := keys.Keys(t.Context(), "*").Result(); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}

// A cancelled training ends and leaves nothing in the store, with running or killed workers. Bad options end a
// training without a cancellation.
func TestATrainingIsCancelledOrRefused(t *testing.T) {
	c := startCluster(t)
	starter := distributed.Starter{Client: c.client, Store: c.store}
	begun, ended := make(chan struct{}, 1), make(chan error, 1)
	options := asJSON(t, tiny(reinforcement.RewardTransition))
	cancelled := func() {
		t.Helper()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "cancelled") || fault.IsTerminal(err) {
			t.Errorf("ended with %v", err)
		}
		c.wantEmpty(t)
	}
	train := func() { ended <- starter.Train(t.Context(), options, nil, nil) }
	cancel := func() {
		t.Helper()
		if came, err := starter.Cancel(t.Context(), options); err != nil || came != distributed.Ending {
			t.Fatalf("came to %q, %v", came, err)
		}
	}
	go train()
	wait, kill := c.worker(t, inRoll)
	wait()
	kill()
	cancel()
	w := distributed.Worker(c.client, &distributed.Activities{Trainer: endless{begun: begun}, Store: c.store}, 2)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	cancelled()
	go train()
	<-begun
	cancel()
	cancelled()
	for of, want := range map[string]distributed.Cancelled{string(options): distributed.Over,
		"never was": distributed.NotFound} {
		if came, err := starter.Cancel(t.Context(), []byte(of)); err != nil || came != want {
			t.Errorf("what does not run came to %q, %v, want %q", came, err, want)
		}
	}
	bad := tiny(reinforcement.RewardTransition)
	bad.Group = 0
	if err := starter.Train(t.Context(), asJSON(t, bad), nil, nil); !fault.IsTerminal(err) ||
		!strings.Contains(err.Error(), "group: is 0") {
		t.Errorf("bad options: %v", err)
	}
}

// endless rolls until its context is cancelled.
type endless struct {
	reinforcement.Durable
	begun chan struct{}
}

func (e endless) Roll(ctx context.Context, _, _ []byte, _ int) ([]byte, error) {
	e.begun <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}
