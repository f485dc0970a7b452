package requests_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/requests"
	"github.com/mneme-memory/mneme/lab/training"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Profiles have the facts that requests need, and the floor leaves out barely needed ones. `go test -v` prints the
// figures on dialogues by writers outside the training data. The bars are some points worse than the first
// measurement.
func TestProfilesHaveWhatRequestsNeed(t *testing.T) {
	labels, err := corpus.Shown(corpus.Heldout)
	if err != nil {
		t.Fatal(err)
	}
	for _, bar := range []struct {
		dialogues       int
		covered, needed float64
	}{{1, 0.94, 0.36}, {8, 0.92, 0.077}, {28, 0.81, 0.043}} {
		users, err := training.Requesters(corpus.Heldout, bar.dialogues)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := requests.Profiles(t.Context(), users, requests.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		f := requests.Measure(asked, labels)
		t.Logf("%2d dialogues a user, %d requests: %.1f %% of what they need is shown, in %.2f lines: %.1f %% needed, "+
			"about %.0f %% unrelated, %.0f %% not related (%d labels)",
			bar.dialogues, f.Requests, 100*f.Covered, f.Lines, 100*f.Needed, 100*f.Unrelated, 100*f.NotRelated, f.Labelled)
		if f.Covered < bar.covered || f.Needed < bar.needed || f.Requests < 200 {
			t.Errorf("%d dialogues a user: %+v, want %.2f covered and %.2f needed", bar.dialogues, f, bar.covered, bar.needed)
		}
	}
}
