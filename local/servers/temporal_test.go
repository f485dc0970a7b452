package servers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/test/servers/servertest"
)

const (
	taskQueue  = "localserver-test"
	workflowID = "waiter"
)

// waiter collects signals until the signal "end".
func waiter(ctx workflow.Context) (string, error) {
	all := ""
	for {
		var word string
		workflow.GetSignalChannel(ctx, "word").Receive(ctx, &word)
		if word == "end" {
			return all, nil
		}
		all += word
	}
}

func dialTemporal(t *testing.T, addr string) client.Client {
	t.Helper()
	quiet := log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	c, err := client.NewLazyClient(client.Options{HostPort: addr, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func startWorker(t *testing.T, c client.Client) {
	t.Helper()
	w := worker.New(c, taskQueue, worker.Options{WorkerStopTimeout: time.Second})
	w.RegisterWorkflow(waiter)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
}

func signal(ctx context.Context, t *testing.T, c client.Client, word string) {
	t.Helper()
	options := client.StartWorkflowOptions{TaskQueue: taskQueue}
	if _, err := c.SignalWithStartWorkflow(ctx, workflowID, "word", word, options, waiter); err != nil {
		t.Fatal(err)
	}
}

func TestTemporalContinuesWorkflowsOverKillAndStop(t *testing.T) {
	ctx := servertest.Context(t)
	s, err := servers.StartTemporal(ctx, process.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, s)
	addr := s.Addr()
	c := dialTemporal(t, addr)
	startWorker(t, c)
	signal(ctx, t, c, "a")

	steps := []struct {
		name, word string
		end        func() error
	}{
		{"kill", "b", s.Kill},
		{"stop", "c", func() error { return s.Stop(ctx) }},
	}
	for _, step := range steps {
		if err := step.end(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		servertest.MustEnd(ctx, t, s)
		if err := refused(addr); err != nil {
			t.Errorf("after %s: %v", step.name, err)
		}
		if err := s.Restart(ctx); err != nil {
			t.Fatalf("restart after %s: %v", step.name, err)
		}
		if s.Addr() != addr {
			t.Errorf("after %s the address changed", step.name)
		}
		signal(ctx, t, c, step.word)
	}
	signal(ctx, t, c, "end")
	var got string
	if err := c.GetWorkflow(ctx, workflowID, "").Get(ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got != "abc" {
		t.Errorf("the workflow collected %q, want %q", got, "abc")
	}
}

func TestTemporalHasItsNamespace(t *testing.T) {
	ctx := servertest.Context(t)
	s, err := servers.StartTemporal(ctx, process.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, s)
	c := dialTemporal(t, s.Addr())
	answer, err := c.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	want := durationpb.New(24 * time.Hour).AsDuration()
	if got := answer.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(); got != want {
		t.Errorf("retention %s, want %s", got, want)
	}
}

func TestTemporalDiesWithItsKilledParent(t *testing.T) {
	ctx := servertest.Context(t)
	dir := t.TempDir()
	p := startParent(t, servers.NameTemporal, dir)
	child := childPid(t, dir, servers.NameTemporal)
	p.kill()
	eventually(ctx, t, "child of a killed parent", func() error { return gone(child) })

	s, err := servers.StartTemporal(ctx, process.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, s)
	if s.Addr() != p.addr {
		t.Errorf("address %s, before %s", s.Addr(), p.addr)
	}
}

// Erasure depends on this behaviour. The server deletes a run at once if the run has been closed for
// TemporalDeleteAfter. Other closed or deleted runs do not matter. The server's files keep no data of the run.
func TestTemporalDeletesClosedRunsForGood(t *testing.T) {
	ctx := servertest.Context(t)
	dir := t.TempDir()
	s, err := servers.StartTemporal(ctx, process.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, s)
	c := dialTemporal(t, s.Addr())
	startWorker(t, c)
	after, err := time.ParseDuration(servers.TemporalDeleteAfter)
	if err != nil {
		t.Fatal(err)
	}
	const secret = "a word that nobody else says"
	for range 4 {
		signal(ctx, t, c, secret)
		signal(ctx, t, c, "end")
		if err := c.GetWorkflow(ctx, workflowID, "").Get(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if found, err := filesWith(dir, secret); err != nil || len(found) == 0 {
			t.Fatalf("before its deletion the word is in %v, %v", found, err)
		}
		eventually(ctx, t, "the run has been closed for long enough", func() error {
			found, err := c.DescribeWorkflowExecution(ctx, workflowID, "")
			if err == nil && time.Since(found.GetWorkflowExecutionInfo().GetCloseTime().AsTime()) < after {
				err = errors.New("it has just been closed")
			}
			return err
		})
		request := &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID},
		}
		if _, err := c.WorkflowService().DeleteWorkflowExecution(ctx, request); err != nil {
			t.Fatal(err)
		}
		asked := time.Now()
		eventually(ctx, t, "the run is gone", func() error {
			_, err := c.DescribeWorkflowExecution(ctx, workflowID, "")
			if absent := new(serviceerror.NotFound); errors.As(err, &absent) {
				return nil
			}
			return errors.New("it is still there")
		})
		t.Logf("gone %v after the request", time.Since(asked).Round(time.Millisecond))
	}
	eventually(ctx, t, "no file has the word", func() error {
		found, err := filesWith(dir, secret)
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("it is in %v", found)
		}
		return err
	})
}

// filesWith lists the files below a directory that contain a text.
func filesWith(dir, text string) (found []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // the log of writes appears and disappears
			return nil
		}
		if bytes.Contains(content, []byte(text)) {
			found = append(found, filepath.Base(path))
		}
		return err
	})
	return found, err
}
