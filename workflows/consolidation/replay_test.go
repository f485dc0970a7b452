package consolidation_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mneme-memory/mneme/workflows/consolidation"
)

func replay(t *testing.T, history []byte) error {
	t.Helper()
	o := consolidation.ClientOptions(client.Options{})
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: o.DataConverter, ContextPropagators: o.ContextPropagators,
	})
	if err != nil {
		t.Fatal(err)
	}
	consolidation.Register(r)
	h := &historypb.History{}
	if err := protojson.Unmarshal(history, h); err != nil {
		t.Fatal(err)
	}
	return r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), h)
}

// Running workflows must continue after a change of the code: each recorded history replays.
func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/histories/*.json")
	if err != nil || len(files) < 6 {
		t.Fatalf("found %d recorded histories, error %v; want at least 6", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			history, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := replay(t, history); err != nil {
				t.Fatalf("the code no longer does what it did when this was recorded: %v", err)
			}
		})
	}
}

// The replay notices another order of steps.
func TestReplayRefusesAnotherOrder(t *testing.T) {
	history, err := os.ReadFile("testdata/histories/closed-session.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Replace(history, []byte(`"Extract"`), []byte(`"Decide"`), 1)
	if bytes.Equal(other, history) {
		t.Fatal("the recorded history has no Extract")
	}
	if err := replay(t, other); err == nil {
		t.Fatal("a history with other steps replayed")
	}
}
