package laptop

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/cli/erasure"
	"github.com/mneme-memory/mneme/local/cli/memories"
	"github.com/mneme-memory/mneme/local/cli/sample"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/diagnosis"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Limits of the sections of a story, in lines. With the titles they fit a page.
const (
	saidLines       = 6
	rememberedLines = 8
	changedLines    = 4
	answerLines     = 3
	citedLines      = 3
	whyLines        = 2
	storeLines      = 3
	lostTries       = 8 // turns without a memory that the story asks about
)

// story is the material of a short demo, read from the running system. It shows one user, and erases another.
type story struct {
	user     string
	turns    []memory.Turn // of the user, in order
	sessions int
	memories []*mnemev1.Memory
	question string
	answer   *mnemev1.AnswerResponse
	versions []*mnemev1.Memory // of a memory that an update changed, oldest first
	lost     memory.Turn       // a turn without a memory
	why      *mnemev1.WhyResponse
	erased   string // the other user
	proof    erasure.Proof
}

// readStory collects the material. It asks for the erasure first, because the proof takes a while.
func readStory(ctx context.Context, c *console.Console, s *console.Session, sessions []dataset.Session,
	questions []sample.Question) (*story, error) {
	t := &story{user: sessions[0].User}
	for _, one := range sessions {
		if one.User != t.user {
			t.erased = one.User
			continue
		}
		t.sessions++
		t.turns = append(t.turns, one.Turns...)
	}
	g, ctx := errgroup.WithContext(ctx)
	if t.erased != "" {
		g.Go(func() (err error) {
			t.proof, err = erasure.Erase(ctx, &console.Console{Out: io.Discard, Err: io.Discard}, s, t.erased)
			return err
		})
	}
	g.Go(func() (err error) {
		if t.memories, err = memories.All(ctx, s, &mnemev1.ListMemoriesRequest{UserId: t.user}); err != nil {
			return err
		}
		if err := t.ask(ctx, s, questions); err != nil {
			return err
		}
		if err := t.readChange(ctx, s); err != nil {
			return err
		}
		return t.readLost(ctx, s)
	})
	return t, g.Wait()
}

// ask asks the user's questions until memory answers one.
func (t *story) ask(ctx context.Context, s *console.Session, questions []sample.Question) error {
	for _, q := range questions {
		if q.User != t.user {
			continue
		}
		res, err := s.Answer(ctx,
			connect.NewRequest(&mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: t.user, Query: q.Query}}))
		if err != nil {
			return err
		}
		if t.question, t.answer = q.Query, res.Msg; len(res.Msg.GetCitedIds()) > 0 {
			return nil
		}
	}
	return nil
}

// cited are the memories that the answer cites.
func (t *story) cited() []*mnemev1.CitedMemory {
	return slices.DeleteFunc(slices.Clone(t.answer.GetRecall().GetCited()), func(c *mnemev1.CitedMemory) bool {
		return !slices.Contains(t.answer.GetCitedIds(), c.GetMemory().GetId())
	})
}

// readChange reads the versions of a memory that an update changed. It prefers one that the answer cites.
func (t *story) readChange(ctx context.Context, s *console.Session) error {
	var candidates []*mnemev1.Memory
	for _, c := range t.cited() {
		candidates = append(candidates, c.GetMemory())
	}
	for _, m := range append(candidates, t.memories...) {
		if len(m.GetPredecessorIds()) == 0 {
			continue
		}
		res, err := s.GetMemoryHistory(ctx, connect.NewRequest(&mnemev1.GetMemoryHistoryRequest{UserId: t.user,
			MemoryId: m.GetId()}))
		if err != nil {
			return err
		}
		t.versions = res.Msg.GetVersions()
		return nil
	}
	return nil
}

// readLost finds a turn of the user that was not remembered, the longest first, and asks for the reason.
func (t *story) readLost(ctx context.Context, s *console.Session) error {
	sources := map[string]bool{}
	for _, m := range t.memories {
		for _, id := range m.GetSourceTurnIds() {
			sources[id] = true
		}
	}
	lost := slices.DeleteFunc(slices.Clone(t.turns), func(turn memory.Turn) bool {
		return turn.Role != memory.RoleUser || sources[turn.ID]
	})
	slices.SortStableFunc(lost, func(a, b memory.Turn) int { return cmp.Compare(len(b.Text), len(a.Text)) })
	for _, turn := range lost[:min(len(lost), lostTries)] {
		res, err := s.Why(ctx, connect.NewRequest(&mnemev1.WhyRequest{
			Recall: &mnemev1.RecallRequest{UserId: t.user, Query: turn.Text}, ExpectTurnIds: []string{turn.ID},
		}))
		if err != nil {
			return err
		}
		if stage := diagnosis.Stage(res.Msg.GetStage()); stage != diagnosis.Answered {
			t.lost, t.why = turn, res.Msg
			return nil
		}
	}
	return nil
}

// print prints the story on one page.
func (t *story) print(out io.Writer, took time.Duration) {
	p := &page{out: out}
	p.title("WHAT WAS SAID   %s, %d turns in %d sessions; some of them:", t.user, len(t.turns), t.sessions)
	p.rows(saidLines, t.said())
	active := slices.DeleteFunc(slices.Clone(t.memories), func(m *mnemev1.Memory) bool {
		return m.GetStatus() != mnemev1.Status_STATUS_ACTIVE
	})
	p.title("WHAT WAS REMEMBERED   %d memories hold, formed in %.1f s:", len(active), took.Seconds())
	var rows []string
	for _, m := range active {
		rows = append(rows, fmt.Sprintf("%-10s %s", memories.KindName(m.GetKind()), m.GetContent()))
	}
	p.rows(rememberedLines, rows)
	if len(t.versions) > 0 {
		p.title("WHAT AN UPDATE CHANGED   Earlier versions stay, with their sources:")
		p.rows(changedLines, versionRows(t.versions))
	}
	if t.answer != nil {
		p.title("QUESTION   %s   (recalled in %.0f ms)", t.question, t.answer.GetRecall().GetLatencyMs())
		p.paragraph(answerLines, t.answer.GetAnswer())
		p.rows(citedLines, citationRows(t.cited()))
	}
	if t.why != nil {
		stage := diagnosis.Stage(t.why.GetStage())
		p.title("WHY WAS THIS NOT REMEMBERED?   \"%s\"", t.lost.Text)
		for _, f := range t.why.GetFindings() {
			p.paragraph(whyLines, fmt.Sprintf("%s: %s", stage, f.GetReason()))
			break
		}
		p.line("mneme why asks the same about any turn or text.")
	}
	if t.proof.ID != "" {
		p.title("ERASURE WITH PROOF   %s", t.erased)
		p.line("%d objects before, %d after; proved at %s", t.proof.TotalBefore(), t.proof.TotalAfter(),
			t.proof.Proved.GetDoneAt().AsTime().Format(time.RFC3339))
		p.line("erasure %s", t.proof.ID)
		p.paragraph(storeLines, "scanned: "+strings.Join(storeRows(t.proof), ", "))
	}
	p.title("TRY NEXT")
	p.rows(pageLines, []string{
		"make up                  keeps everything running, and prints how a program connects",
		"bin/mneme demo --all     shows all memories, questions and traces of this demo",
		"docs/tutorial.md         builds an assistant with a memory in 15 minutes",
		"examples/                has a chat loop in Python, Go and TypeScript",
	})
}

// said lists turns behind the other sections, in the order of the conversation.
func (t *story) said() []string {
	behind := map[string]bool{t.lost.ID: true}
	add := func(m *mnemev1.Memory) {
		for _, id := range m.GetSourceTurnIds() {
			behind[id] = true
		}
	}
	for _, m := range t.versions {
		add(m)
	}
	for _, c := range t.cited() {
		add(c.GetMemory())
	}
	for _, m := range t.memories {
		if len(behind) >= saidLines {
			break
		}
		add(m)
	}
	var rows []string
	for _, turn := range t.turns {
		if behind[turn.ID] && len(rows) < saidLines {
			rows = append(rows, fmt.Sprintf("%s %s: %s", turn.Time.Format(time.DateOnly), turn.Speaker, turn.Text))
		}
	}
	return rows
}

// versionRows lists the versions of a memory with their times.
func versionRows(versions []*mnemev1.Memory) []string {
	var rows []string
	for _, v := range versions {
		from, to := v.GetValidFrom().AsTime().Format(time.DateOnly), "now"
		if v.GetValidTo() != nil {
			to = v.GetValidTo().AsTime().Format(time.DateOnly)
		}
		rows = append(rows, fmt.Sprintf("v%d, %s to %-10s  %s (%s)", v.GetVersion(), from, to, v.GetContent(),
			memories.StatusName(v.GetStatus())))
	}
	return rows
}

// citationRows lists cited memories with their source turns.
func citationRows(cited []*mnemev1.CitedMemory) []string {
	var rows []string
	for _, c := range cited {
		m := c.GetMemory()
		rows = append(rows, fmt.Sprintf("[%d] from turn %s: %s", c.GetIndex(), strings.Join(m.GetSourceTurnIds(), ", "),
			m.GetContent()))
	}
	return rows
}

// storeRows lists the stores that held data before the erasure.
func storeRows(proof erasure.Proof) []string {
	var rows []string
	empty := 0
	for _, n := range proof.Before.GetCounts() {
		if n.GetCount() == 0 {
			empty++
			continue
		}
		rows = append(rows, fmt.Sprintf("%s %d", n.GetStore(), n.GetCount()))
	}
	return append(rows, fmt.Sprintf("and %d empty stores", empty))
}
