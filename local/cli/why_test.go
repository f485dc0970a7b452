package cli_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// farID is a memory that is never among the candidates.
const farID = "7f9619ff-8b86-5d01-b42d-00cf4fc964ff"

// Why returns one finding for each expected turn, with the turn id as the stage, and one for the text.
func (f fake) Why(
	_ context.Context, req *connect.Request[mnemev1.WhyRequest],
) (*connect.Response[mnemev1.WhyResponse], error) {
	if f.empty {
		return answer(f, &mnemev1.WhyResponse{Answer: &mnemev1.AnswerResponse{Recall: &mnemev1.RecallResponse{}}})
	}
	out := &mnemev1.WhyResponse{
		Candidates: []*mnemev1.CandidateView{
			{MemoryId: memID, TurnIds: []string{"t1"}, Retrieved: 1, Ranked: 1, Score: 0.75, Shown: true},
			{MemoryId: memID, Retrieved: 2},
		},
		Answer: &mnemev1.AnswerResponse{Answer: nasty, Recall: profile()},
	}
	for _, id := range req.Msg.GetExpectTurnIds() {
		stage := mnemev1.Stage_value[id]
		out.Findings = append(out.Findings, &mnemev1.Finding{TurnId: id, Stage: mnemev1.Stage(stage),
			Reason:    "scored 0.1\x1b[2J",
			MemoryIds: []string{memID, farID}})
		out.Stage = mnemev1.Stage(stage)
	}
	if req.Msg.GetExpectText() != "" {
		out.Findings = append(out.Findings, &mnemev1.Finding{Stage: mnemev1.Stage_STAGE_ANSWERED,
			Reason: "the answer uses it"})
	}
	return answer(f, out)
}

func TestWhyTellsTheStageAndWhatToDo(t *testing.T) {
	addr := serve(t, fake{})
	told := map[string]bool{}
	for _, stage := range mnemev1.Stage_name {
		t.Run(stage, func(t *testing.T) {
			code, out, errOut := run(t, "why", "--user", "ana", "--query", "Where?", "--expect", stage, "--url", addr, "--key",
				key)
			lines := strings.Split(out, "\n")
			if code != command.ExitOK || len(lines) < 4 || strings.ContainsFunc(out+errOut, control) {
				t.Fatalf("exit code %d, %q, %q", code, out, errOut)
			}
			if told[lines[1]] || len(lines[1]) < 20 ||
				!strings.HasPrefix(lines[2], "- turn "+stage+": "+lines[0]+": scored 0.1") {
				t.Errorf("says %q", lines[:3])
			}
			told[lines[1]] = true
			for _, want := range []string{"0.750", "yes", "expected, but not retrieved", "answer: lives"} {
				if !strings.Contains(out, want) {
					t.Errorf("lacks %q: %s", want, out)
				}
			}
		})
	}
}

func TestWhyNamesTheMemoryThatReplacedAnother(t *testing.T) {
	_, out, _ := run(t, "why", "--user", "ana", "--query", "Where?", "--expect", "STAGE_LOST_IN_UPDATE", "--url",
		serve(t, fake{replaced: true}), "--key", key)
	if want := "memory " + farID + " was replaced by memory " + newID +
		" from turn t9: lives in Lisbon [2J\n"; strings.Count(out, want) != 1 {
		t.Errorf("%q lacks %q", out, want)
	}
	if want := "lost in an update: memory " + newID + " is newer: lives in Lisbon [2J\n"; !strings.HasPrefix(out, want) {
		t.Errorf("the headline of %q is not %q", out, want)
	}
}

func TestWhyWithoutAnythingExpectedShowsTheCandidates(t *testing.T) {
	addr := serve(t, fake{})
	code, out, _ := run(t, "why", "--user", "ana", "--query", "Where?", "--url", addr, "--key", key)
	if code != command.ExitOK || !strings.Contains(out, "--expect") || !strings.Contains(out, "Porto") ||
		!strings.Contains(out, memID) {
		t.Errorf("exit code %d, %q", code, out)
	}
	code, out, _ = run(t, "why", "--user", "ana", "--query", "Where?", "--expect-text", "Porto", "--url", addr, "--key",
		key)
	if code != command.ExitOK || !strings.Contains(out, "- the text: answered: the answer uses it") {
		t.Errorf("exit code %d, %q", code, out)
	}
}

func TestWhyInJSONHasTheDocumentationsWords(t *testing.T) {
	_, out, _ := run(t, "why", "--user", "ana", "--query", "Where?", "--expect", "STAGE_DROPPED_BY_FILTER", "--json",
		"--url",
		serve(t, fake{}), "--key", key)
	var got struct {
		Stage    string
		Findings []struct{ Stage, Reason string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Stage != "dropped_by_filter" ||
		len(got.Findings) != 1 ||
		got.Findings[0].Stage != got.Stage {
		t.Errorf("got %+v, %v", got, err)
	}
}
