package recall

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/cli/memories"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/diagnosis"
)

func (c commands) why() *cobra.Command {
	req := &mnemev1.WhyRequest{Recall: &mnemev1.RecallRequest{}}
	var given queryFlags
	cmd := &cobra.Command{
		Use:   "why --user USER --query TEXT [--expect TURN]... [--expect-text TEXT]",
		Short: "Find the stage at which an expected memory was lost",
		Long: "why runs a query like a recall, but Mneme learns nothing from it. It follows the expected turns or words\n" +
			"through every stage: ingestion, filter, extraction, updates, retrieval, ranking, profile and answer. It\n" +
			"prints the earliest stage that lost them, and the memory that replaced an expected one.\n" +
			"Name the expected turns with --expect, or words that must all occur with --expect-text.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := given.read(req.Recall, cmd.InOrStdin()); err != nil {
				return err
			}
			return c.runWhy(cmd.Context(), req)
		},
	}
	f := cmd.Flags()
	given.add(cmd, req.Recall)
	f.StringArrayVar(&req.ExpectTurnIds, "expect", nil, "id of an expected turn; may be repeated")
	f.StringVar(&req.ExpectText, "expect-text", "", "expected words; a memory must contain all of them")
	f.StringVar(&req.RecallId, "recall", "", "id of the recall to repeat, with the same random choices")
	return cmd
}

func (c commands) runWhy(ctx context.Context, req *mnemev1.WhyRequest) error {
	user := req.GetRecall().GetUserId()
	show := func(s *console.Session, res *mnemev1.WhyResponse) error {
		named, err := diagnosedMemories(ctx, s, user, res)
		if err != nil {
			return err
		}
		replaced, err := replacements(ctx, s, user, res.GetFindings(), named)
		if err != nil {
			return err
		}
		if err := c.printUnknown(ctx, s, user, res.GetAnswer().GetRecall()); err != nil {
			return err
		}
		c.printWhy(res, named, replaced)
		return nil
	}
	return console.Show(ctx, c.Console, (*console.Session).Why, req, show)
}

// diagnosedMemories reads the memories in a diagnosis, by id. It drops memories that have been erased meanwhile.
func diagnosedMemories(
	ctx context.Context, s *console.Session, user string, w *mnemev1.WhyResponse,
) (map[string]*mnemev1.Memory, error) {
	out := map[string]*mnemev1.Memory{}
	for _, cited := range w.GetAnswer().GetRecall().GetCited() {
		out[cited.GetMemory().GetId()] = cited.GetMemory()
	}
	var named []string
	for _, v := range w.GetCandidates() {
		named = append(named, v.GetMemoryId())
	}
	for _, f := range w.GetFindings() {
		named = append(named, f.GetMemoryIds()...)
	}
	for _, id := range named {
		if out[id] != nil {
			continue
		}
		res, err := s.GetMemory(ctx, connect.NewRequest(&mnemev1.GetMemoryRequest{UserId: user, MemoryId: id}))
		if connect.CodeOf(err) == connect.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[id] = res.Msg.GetMemory()
	}
	return out, nil
}

func (c commands) printWhy(w *mnemev1.WhyResponse, byID, replaced map[string]*mnemev1.Memory) {
	if len(w.GetFindings()) == 0 {
		fmt.Fprintln(c.Out, "nothing is expected: name turns with --expect or words with --expect-text")
	} else {
		stage := diagnosis.Stage(w.GetStage())
		fmt.Fprintf(c.Out, "%s%s\n  %s\n", stage, newer(w, replaced), advice(stage))
	}
	expected := map[string]bool{}
	for _, f := range w.GetFindings() {
		what := "the text"
		if f.GetTurnId() != "" {
			what = "turn " + command.Printable(f.GetTurnId())
		}
		fmt.Fprintf(c.Out, "- %s: %s: %s\n", what, diagnosis.Stage(f.GetStage()), command.Printable(f.GetReason()))
		for _, id := range f.GetMemoryIds() {
			expected[id] = true
			c.printState(byID[id], replaced[id])
		}
	}
	c.printCandidates(w.GetCandidates(), byID, expected)
	c.printElsewhere(w.GetCandidates(), byID, expected)
	memories.PrintCore(c.Console, w.GetCore())
	for _, d := range w.GetAnswer().GetRecall().GetDegraded() {
		fmt.Fprintf(c.Out, "! %s\n", utilizer.Degradation(d))
	}
	fmt.Fprintf(c.Out, "answer: %s\n", command.Printable(w.GetAnswer().GetAnswer()))
}

// newer names the memory that replaced an expected one, for the headline. It is empty without a replacement at the
// headline's stage.
func newer(w *mnemev1.WhyResponse, replaced map[string]*mnemev1.Memory) string {
	for _, f := range w.GetFindings() {
		for _, id := range f.GetMemoryIds() {
			if m := replaced[id]; m != nil && f.GetStage() == w.GetStage() {
				return fmt.Sprintf(": memory %s is newer: %s", m.GetId(), command.Printable(m.GetContent()))
			}
		}
	}
	return ""
}

// printCandidates prints the search's candidates in their order.
func (c commands) printCandidates(
	candidates []*mnemev1.CandidateView, byID map[string]*mnemev1.Memory, expected map[string]bool,
) {
	t := c.Table("candidates", "retrieved", "ranked", "score", "shown", "explored", "expected", "memory and id")
	for _, v := range candidates {
		ranked, score := "", ""
		if v.GetRanked() > 0 {
			ranked, score = strconv.Itoa(int(v.GetRanked())), fmt.Sprintf("%.3f", v.GetScore())
		}
		t.AppendRow(table.Row{
			v.GetRetrieved(), ranked, score, mark(v.GetShown()), mark(v.GetExplored()), mark(expected[v.GetMemoryId()]),
			memories.WithID(byID[v.GetMemoryId()].GetContent(), v.GetMemoryId()),
		})
	}
	t.Render()
}

// printElsewhere prints the expected memories that are not among the candidates.
func (c commands) printElsewhere(
	candidates []*mnemev1.CandidateView, byID map[string]*mnemev1.Memory, expected map[string]bool,
) {
	for _, v := range candidates {
		delete(expected, v.GetMemoryId())
	}
	var rest []*mnemev1.Memory
	for id := range expected {
		if m := byID[id]; m != nil {
			rest = append(rest, m)
		}
	}
	if len(rest) == 0 {
		return
	}
	slices.SortFunc(rest, func(a, b *mnemev1.Memory) int { return strings.Compare(a.GetId(), b.GetId()) })
	fmt.Fprintln(c.Out, "expected, but not retrieved:")
	memories.PrintMemories(c.Console, rest)
}

func mark(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// advice returns a recommendation for a stage.
func advice(s diagnosis.Stage) string {
	switch s {
	case diagnosis.NotIngested:
		return "Check that the turn was published, look for it among the dead letters (mneme replay --list), " +
			"or wait until its session is consolidated."
	case diagnosis.DroppedByFilter:
		return "Lower the threshold of the filter, or train the filter on similar turns (mneme-lab train filter)."
	case diagnosis.NotExtracted:
		return "Compare strategies and policies on similar turns (mneme eval formation), and choose one that keeps the turn."
	case diagnosis.LostInUpdate:
		return "The memory no longer holds. Ask with --as-of, or ask about the past, to see what held before."
	case diagnosis.NotRetrieved:
		return "Retrieve more candidates (--candidates). For a user without an index, " +
			"change the weight of words against vectors (MNEME_RECALL_ALPHA)."
	case diagnosis.CutByReranker:
		return "Show more memories (--memories), and report the citations of answers, so that the reranker learns."
	case diagnosis.LeftOutOfProfile:
		return "Allow more words in the profile (--words), or lower the relevance floor (MNEME_RECALL_FLOOR) if the floor " +
			"is the reason."
	case diagnosis.Generator:
		return "The profile has the memory: use another policy or model for answers, or ask more precisely."
	case diagnosis.Answered:
		return "Nothing to do: the answer uses the memory."
	}
	return "Update this program: it does not know the stage that the service names."
}

// replacements returns the memories that replaced the superseded ones of a diagnosis's findings, by the id of the
// superseded memory. A memory that ended without a replacement has none.
func replacements(
	ctx context.Context, s *console.Session, user string, findings []*mnemev1.Finding, byID map[string]*mnemev1.Memory,
) (map[string]*mnemev1.Memory, error) {
	out := map[string]*mnemev1.Memory{}
	for _, f := range findings {
		for _, id := range f.GetMemoryIds() {
			if byID[id].GetStatus() != mnemev1.Status_STATUS_SUPERSEDED || out[id] != nil {
				continue
			}
			res, err := s.GetMemoryHistory(ctx, connect.NewRequest(&mnemev1.GetMemoryHistoryRequest{UserId: user, MemoryId: id}))
			if connect.CodeOf(err) == connect.CodeNotFound {
				continue // the memory was erased meanwhile
			}
			if err != nil {
				return nil, err
			}
			for _, version := range res.Msg.GetVersions() {
				if slices.Contains(version.GetPredecessorIds(), id) {
					out[id] = version
				}
			}
		}
	}
	return out, nil
}

// printState prints why an expected memory no longer holds, and the memory that replaced it with its turns.
func (c commands) printState(m, replacement *mnemev1.Memory) {
	switch m.GetStatus() {
	case mnemev1.Status_STATUS_RETRACTED:
		fmt.Fprintf(c.Out, "  memory %s was deleted\n", m.GetId())
	case mnemev1.Status_STATUS_SUPERSEDED:
		if replacement == nil {
			fmt.Fprintf(c.Out, "  memory %s ended, and no memory replaced it\n", m.GetId())
			return
		}
		fmt.Fprintf(c.Out, "  memory %s was replaced by memory %s from turn %s: %s\n", m.GetId(), replacement.GetId(),
			command.Printable(strings.Join(replacement.GetSourceTurnIds(), ", ")), command.Printable(replacement.GetContent()))
	}
}
