package distributed_test

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

	"github.com/mneme-memory/mneme/lab/distributed"
)

func replay(t *testing.T, history []byte) error {
	t.Helper()
	r := worker.NewWorkflowReplayer()
	distributed.Register(r)
	h := &historypb.History{}
	if err := protojson.Unmarshal(history, h); err != nil {
		t.Fatal(err)
	}
	return r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), h)
}

// Trainings continue after a change of the code: each recorded history replays.
func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/histories/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d recorded histories, error %v; want at least 5", len(files), err)
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
			// The replay fails for another order of steps.
			other := bytes.Replace(history, []byte(`"Roll"`), []byte(`"Learn"`), 1)
			if bytes.Equal(other, history) || replay(t, other) == nil {
				t.Error("a history with other steps replayed")
			}
		})
	}
}
