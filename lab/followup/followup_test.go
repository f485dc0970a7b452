package followup_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/followup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The messages before a follow-up make its memories findable, and hardly mislead a query on another topic. `go test
// -v` prints the figures. The bars are some points below the first measurement.
func TestTheTalkHelpsFollowUpsAndDoesNotMislead(t *testing.T) {
	for _, split := range []corpus.Split{corpus.Choose, corpus.Heldout} {
		talks, err := corpus.Talks(split)
		if err != nil {
			t.Fatal(err)
		}
		report, outcomes, err := followup.Measure(t.Context(), talks)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{corpus.FollowUp, corpus.Switch} {
			r := report[kind]
			t.Logf(
				"%s, %d of kind %s: recall@5 %.1f without the messages, %.1f with them",
				split,
				r.Requests,
				kind,
				100*r.Alone,
				100*r.WithTalk,
			)
		}
		for _, o := range outcomes {
			t.Logf("%s %q needs %v, is shown %v, without messages %v", o.Kind, o.Query, o.Needs, o.WithTalk, o.Alone)
		}
		const gain, loss = 0.15, 0.08
		if r := report[corpus.FollowUp]; r.WithTalk < r.Alone+gain {
			t.Errorf("%s: the messages take follow-ups from %.3f to %.3f, want %.2f more", split, r.Alone, r.WithTalk, gain)
		}
		if r := report[corpus.Switch]; r.WithTalk < r.Alone-loss {
			t.Errorf("%s: the messages take switches from %.3f to %.3f, want at most %.2f less", split, r.Alone, r.WithTalk,
				loss)
		}
	}
}
