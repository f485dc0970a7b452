package fault_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/local/standalone"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/test/harness"
)

// TestAStandaloneSurvivesKills kills `mneme up` and its servers while memories are formed. In the end every bank
// equals the bank of a run without kills.
func TestAStandaloneSurvivesKills(t *testing.T) {
	sessions := talks()
	want := undisturbed(t, sessions)
	programs, err := harness.Programs(t.Context())
	must(t, err)
	binary := filepath.Join(programs, "mneme")
	t.Run("all of it", func(t *testing.T) { t.Parallel(); killAll(t, binary, sessions, want) })
	t.Run("its servers", func(t *testing.T) { t.Parallel(); killServers(t, binary, sessions, want) })
}

// killAll starts `mneme up` again on the same folder and ingests everything once more, like a user who does not know
// the progress.
func killAll(t *testing.T, binary string, sessions []dataset.Session, want harness.State) {
	dir := t.TempDir()
	half, whole := lines(t, sessions[:len(sessions)/2]), lines(t, sessions)

	up := start(t, binary, dir)
	first := up.where
	mneme(t, binary, dir, "ingest", "--no-wait", half)
	formed := harness.Formed(up.client, sessions)
	await(t, "some sessions are formed", func(ctx context.Context) bool { return formed(ctx) >= 3 })
	up.kill(t)
	await(t, "no process of the folder is left", func(context.Context) bool { return len(processes(t, dir)) == 0 })

	up = start(t, binary, dir)
	if now := up.where; now.Gateway != first.Gateway || now.APIKey != first.APIKey {
		t.Errorf("the gateway is at %s, before at %s; the keys are equal: %t", now.Gateway, first.Gateway,
			now.APIKey == first.APIKey)
	}
	mneme(t, binary, dir, "ingest", whole)
	harness.AwaitState(t, standalone.LocalTenant, up.client, sessions, want)
	if out := mneme(t, binary, dir, "replay", "--list", "--json"); strings.Contains(out, `"reason"`) {
		t.Errorf("there are dead letters: %s", out)
	}
	up.stop(t)
	if left := processes(t, dir); len(left) != 0 {
		t.Errorf("processes left after the end: %v", left)
	}
}

// killServers kills Weaviate and Temporal one after the other. `mneme up` continues and restarts them at the same
// addresses.
func killServers(t *testing.T, binary string, sessions []dataset.Session, want harness.State) {
	dir := t.TempDir()
	up := start(t, binary, dir)
	first := up.where
	formed := harness.Formed(up.client, sessions)
	for i, name := range []string{servers.NameWeaviate, servers.NameTemporal} {
		ports := filepath.Join(dir, name, name+".ports.json")
		before := contentOf(t, ports)
		mneme(t, binary, dir, "ingest", "--no-wait", lines(t, sessions[upTo(3*i):upTo(3*i+2)]))
		await(t, "some sessions are formed", func(ctx context.Context) bool { return formed(ctx) > upTo(3*i) })
		killServer(t, dir, name)
		killed := time.Now()
		mneme(t, binary, dir, "ingest", "--no-wait", lines(t, sessions[upTo(3*i+2):upTo(3*i+3)]))
		await(t, name+" serves again", func(context.Context) bool {
			return strings.Contains(up.log.String(), name+" serves again")
		})
		t.Logf("%s served again %v after it was killed", name, time.Since(killed).Round(time.Millisecond))
		if after := contentOf(t, ports); after != before {
			t.Errorf("%s has ports %s, before %s", name, after, before)
		}
		if now, err := standalone.LoadConnection(dir); err != nil || !reflect.DeepEqual(now, first) {
			t.Errorf("without %s the connection is not what it was: %v", name, err)
		}
	}
	harness.AwaitState(t, standalone.LocalTenant, up.client, sessions, want)
	if out := mneme(t, binary, dir, "replay", "--list", "--json"); strings.Contains(out, `"reason"`) {
		t.Errorf("there are dead letters: %s", out)
	}
	recallWithout(t, dir, up, sessions[0].User)
	dieForGood(t, dir, up)
}

// dieForGood kills Temporal and replaces its database, so that it cannot start again. `mneme up` ends with one line
// after its restarts. The line has this death's exit code, and no error of the deaths before.
func dieForGood(t *testing.T, dir string, up *running) {
	t.Helper()
	data := filepath.Join(dir, servers.NameTemporal, servers.NameTemporal)
	must(t, os.Rename(data, data+".away"))
	must(t, os.WriteFile(data, nil, 0o600))
	killServer(t, dir, servers.NameTemporal)
	await(t, "mneme up ends", func(context.Context) bool {
		select {
		case <-up.ended:
			return true
		default:
			return false
		}
	})
	_, last, _ := strings.Cut(up.log.String(), "Restart 5 of at most 5")
	_, last, _ = strings.Cut(last, "\n")
	want := "mneme: temporal is down again after 5 restarts in 10 minutes (exit status 1); its log is " +
		filepath.Join(dir, servers.NameTemporal, "temporal.log") +
		". No acknowledged data is lost: fix the cause, then run `mneme up` again\n"
	if last != want {
		t.Errorf("mneme up ends with\n%s\nwant\n%s", last, want)
	}
	if code := up.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("the exit code is %d, want 1", code)
	}
	if left := processes(t, dir); len(left) != 0 {
		t.Errorf("processes left after the end: %v", left)
	}
}

// recallWithout kills Weaviate. Until it serves again, recall works for a user in the utilizer's index and fails for
// another user.
func recallWithout(t *testing.T, dir string, up *running, user string) {
	t.Helper()
	recall := func(ctx context.Context, user string) (*mnemev1.RecallResponse, error) {
		res, err := up.client.Recall(ctx, connect.NewRequest(&mnemev1.RecallRequest{UserId: user,
			Query: "Where do they live?"}))
		if err != nil {
			return nil, err
		}
		return res.Msg, nil
	}
	await(t, "the memories are in the index", func(ctx context.Context) bool {
		res, err := recall(ctx, user)
		return err == nil && !res.GetSearched()
	})
	const again = servers.NameWeaviate + " serves again"
	before := strings.Count(up.log.String(), again)
	killServer(t, dir, servers.NameWeaviate)
	if res, err := recall(t.Context(), user); err != nil || len(res.GetCited()) == 0 {
		t.Errorf("without Weaviate, recall of a user in the index: %v, %d memories", err, len(res.GetCited()))
	}
	if _, err := recall(t.Context(), "another"); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("without Weaviate, recall of a user that is not in the index: %v, want unavailable", err)
	}
	await(t, again, func(context.Context) bool { return strings.Count(up.log.String(), again) == before+1 })
	await(t, "recall of all users", func(ctx context.Context) bool { _, err := recall(ctx, "another"); return err == nil })
}

func contentOf(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	must(t, err)
	return string(raw)
}

// killServer kills a server of `mneme up` as kill -9 does.
func killServer(t *testing.T, dir, name string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.Fields(contentOf(t, filepath.Join(dir, name, name+".pid")))[0])
	must(t, err)
	must(t, syscall.Kill(pid, syscall.SIGKILL))
}

// lines writes sessions to a file for ingest.
func lines(t *testing.T, sessions []dataset.Session) string {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	for _, s := range sessions {
		for _, turn := range s.Turns {
			must(t, encoder.Encode(map[string]any{
				"user_id": s.User, "session_id": s.ID, "turn_id": turn.ID, "speaker": turn.Speaker, "role": turn.Role,
				"text": turn.Text, "time": turn.Time,
			}))
		}
	}
	file := filepath.Join(t.TempDir(), "sessions.jsonl")
	must(t, os.WriteFile(file, out.Bytes(), 0o600))
	return file
}

// mneme runs a command to its end and returns its output.
func mneme(t *testing.T, binary, dir string, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"--data", dir}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("mneme %v: %v\n%s", args, err, errOut.String())
	}
	return out.String()
}

// running is a `mneme up`.
type running struct {
	// failed is the reason of a failed start.
	failed error

	where  standalone.Connection
	cmd    *exec.Cmd
	client harness.Client
	ended  chan struct{}
	err    error // valid once ended is closed
	log    *lockedBuffer
}

// start runs `mneme up` and waits until it prints its addresses.
func start(t *testing.T, binary, dir string) *running {
	t.Helper()
	r := launch(t, binary, dir)
	// While no process of the folder ran, a server of another test may have taken one of its ports. Then the message
	// says what to do.
	for range 3 {
		hint := portTaken.FindStringSubmatch(r.log.String())
		if r.failed == nil || hint == nil {
			break
		}
		must(t, os.Remove(hint[1]))
		r = launch(t, binary, dir)
	}
	if r.failed != nil {
		t.Fatalf("mneme up does not come up: %v\n%s", r.failed, r.log.String())
	}
	var err error
	r.where, err = standalone.LoadConnection(dir)
	must(t, err)
	r.client = dial(t, r.where)
	return r
}

var portTaken = regexp.MustCompile(`is used by another process; stop it, or delete (\S+\.ports\.json)`)

// tail is the number of bytes of a log that a failed test shows.
const tail = 20_000

// launch runs the standalone until it prints its addresses, or ends.
func launch(t *testing.T, binary, dir string) *running {
	t.Helper()
	r := &running{cmd: exec.Command(binary, "--data", dir, "--json", "up", "--listen", "127.0.0.1:0"),
		ended: make(chan struct{}), log: &lockedBuffer{}}
	r.cmd.Stderr = r.log
	out, in := io.Pipe()
	r.cmd.Stdout = in
	must(t, r.cmd.Start())
	go func() {
		defer close(r.ended)
		r.err = r.cmd.Wait()
		_ = in.Close()
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.ended
		if t.Failed() {
			t.Logf("mneme up said:\n%s", r.log.String())
			said, err := os.ReadFile(filepath.Join(dir, "services.log"))
			t.Logf("the end of what the services logged (%v):\n%s", err, said[max(0, len(said)-tail):])
		}
	})
	var where standalone.Connection
	if r.failed = json.NewDecoder(out).Decode(&where); r.failed == nil && where.APIKey != "" {
		t.Error("mneme up prints the API key")
	}
	return r
}

func dial(t *testing.T, where standalone.Connection) harness.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	bearer := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			req.Header().Set("Authorization", "Bearer "+where.APIKey)
			return next(ctx, req)
		}
	}))
	return harness.Client{
		UtilizerServiceClient: mnemev1connect.NewUtilizerServiceClient(client, where.Utilizer, bearer),
		MemoryServiceClient:   mnemev1connect.NewMemoryServiceClient(client, where.Utilizer, bearer),
	}
}

func (r *running) kill(t *testing.T) {
	t.Helper()
	must(t, r.cmd.Process.Kill())
	<-r.ended
}

// stop requests the end and expects exit code 0.
func (r *running) stop(t *testing.T) {
	t.Helper()
	must(t, r.cmd.Process.Signal(syscall.SIGTERM))
	await(t, "mneme up ends", func(context.Context) bool {
		select {
		case <-r.ended:
			return true
		default:
			return false
		}
	})
	if r.err != nil {
		t.Errorf("mneme up: %v\n%s", r.err, r.log.String())
	}
}

// processes returns the command lines of processes that work in the folder or name it.
func processes(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	must(t, err)
	var out []string
	for _, e := range entries {
		cwd, _ := os.Readlink(filepath.Join("/proc", e.Name(), "cwd")) // no process, or already gone
		command, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH) &&
			!errors.Is(err, syscall.ENOTDIR) {
			t.Fatal(err)
		}
		if strings.HasPrefix(cwd, dir) || bytes.Contains(command, []byte(dir)) {
			out = append(out, e.Name()+": "+string(bytes.ReplaceAll(command, []byte{0}, []byte(" "))))
		}
	}
	return out
}

// lockedBuffer collects the output of a process while other goroutines read it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
