package recall

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/cli/memories"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/utilizer"
)

func (c commands) recall() *cobra.Command {
	req := &mnemev1.RecallRequest{}
	var answer bool
	var asOf, messages, chosen string
	cmd := &cobra.Command{
		Use:   "recall --user USER --query TEXT [--messages FILE]",
		Short: "Show what a query calls up of a user's memory",
		Long: "recall shows the profile that a query calls for, and the memories it cites. --messages tells what was said just before\n" +
			"the query, so that \"and for her?\" is understood: a JSON list as for chat completions, oldest first. What system and\n" +
			"developer say is left out; of user, assistant and tool, 20 messages of 4,096 bytes may be sent. They are not kept:\n\n" +
			`  [{"role":"user","content":"What can I cook for my sister?"},{"role":"assistant","content":"For when?"}]`,
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := setAsOf(req, asOf); err != nil {
				return err
			}
			if err := setMessages(req, messages, cmd.InOrStdin()); err != nil {
				return err
			}
			var err error
			if req.Filter, err = memories.ParseFilter(chosen); err != nil {
				return err
			}
			return c.runRecall(cmd.Context(), req, answer)
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.UserId, "user", "", "the user")
	f.StringVar(&req.Query, "query", "", "the query")
	f.Uint32Var(&req.Candidates, "candidates", 0, "memories retrieved (20)")
	f.Uint32Var(&req.Memories, "memories", 0, "memories shown (5)")
	f.Uint32Var(&req.WordBudget, "words", 0, "word budget of the profile (400)")
	f.StringVar(&asOf, "as-of", "", "the day asked about, YYYY-MM-DD: what held then (now, unless the query speaks of the past)")
	messagesFlag(cmd, &messages)
	memories.FilterFlag(cmd, &chosen)
	f.BoolVar(&answer, "answer", false, "have the query answered, too")
	command.Require(cmd, "user", "query")
	return cmd
}

// setAsOf sets the time to the end of the day, so that turns of that day count.
func setAsOf(req *mnemev1.RecallRequest, day string) error {
	if day == "" {
		return nil
	}
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return command.Usage(fmt.Errorf("--as-of is %q, want YYYY-MM-DD", day))
	}
	req.AsOf = timestamppb.New(t.AddDate(0, 0, 1).Add(-time.Nanosecond))
	return nil
}

func (c commands) runRecall(ctx context.Context, req *mnemev1.RecallRequest, answer bool) error {
	s, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	if answer {
		res, err := s.Answer(ctx, connect.NewRequest(&mnemev1.AnswerRequest{Recall: req}))
		if err != nil {
			return err
		}
		if c.JSON {
			return command.WriteJSON(c.Out, console.JSON(res.Msg))
		}
		if err := c.printUnknown(ctx, s, req.GetUserId(), res.Msg.GetRecall()); err != nil {
			return err
		}
		PrintRecall(c.Console, res.Msg.GetRecall(), s.Traces)
		fmt.Fprintf(c.Out, "\nanswer: %s\n", command.Printable(res.Msg.GetAnswer()))
		return nil
	}
	res, err := s.Recall(ctx, connect.NewRequest(req))
	if err != nil {
		return err
	}
	if c.JSON {
		return command.WriteJSON(c.Out, console.JSON(res.Msg))
	}
	if err := c.printUnknown(ctx, s, req.GetUserId(), res.Msg); err != nil {
		return err
	}
	PrintRecall(c.Console, res.Msg, s.Traces)
	return nil
}

// printUnknown prints that nothing is kept of the user, if this is why a recall is empty.
func (c commands) printUnknown(ctx context.Context, s *console.Session, user string, r *mnemev1.RecallResponse) error {
	if len(r.GetSections()) > 0 {
		return nil
	}
	unknown, err := memories.IsUnknown(ctx, s, user)
	if unknown {
		fmt.Fprintln(c.Out, memories.UnknownUser(user))
	}
	return err
}

// PrintRecall prints a profile with its citations.
func PrintRecall(c *console.Console, r *mnemev1.RecallResponse, traces string) {
	for _, section := range r.GetSections() {
		fmt.Fprintf(c.Out, "%s\n", section.GetName())
		for _, line := range section.GetLines() {
			fmt.Fprintf(c.Out, "  - %s\n", command.Printable(line))
		}
	}
	if len(r.GetSections()) == 0 {
		fmt.Fprintln(c.Out, "no memory helps with this query")
	}
	for _, d := range r.GetDegraded() {
		fmt.Fprintf(c.Out, "! %s\n", utilizer.Degradation(d))
	}
	for _, cited := range r.GetCited() {
		m := cited.GetMemory()
		explored := ""
		if cited.GetExplored() {
			explored = ", shown to explore"
		}
		fmt.Fprintf(c.Out, "  [%d] %s %s %s, v%d, %s%s\n",
			cited.GetIndex(), m.GetId(), memories.KindName(m.GetKind()), memories.EventTime(m), m.GetVersion(), memories.StatusName(m.GetStatus()), explored)
	}
	fmt.Fprintf(c.Out, "%.1f ms", r.GetLatencyMs())
	if traces != "" {
		fmt.Fprintf(c.Out, ", trace %s/traces/%s", traces, r.GetTraceId())
	}
	fmt.Fprintln(c.Out)
}
