package erasure_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mneme-memory/mneme/workflows/consolidation"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

func replay(t *testing.T, history []byte) error {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: consolidation.DataConverter(),
	})
	if err != nil {
		t.Fatal(err)
	}
	erasure.Register(r)
	h := &historypb.History{}
	if err := protojson.Unmarshal(history, h); err != nil {
		t.Fatal(err)
	}
	return r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), h)
}

// Erasures that were under way before a change of the code must go on after it: each recorded history replays.
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
			// The replay would notice another order of steps.
			other := bytes.Replace(history, []byte(`"CountStores"`), []byte(`"EraseStores"`), 1)
			if bytes.Equal(other, history) || replay(t, other) == nil {
				t.Error("a history with other steps replayed")
			}
		})
	}
}
