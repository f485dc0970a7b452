// Package recall holds the commands that recall memories, and explain a missing memory.
package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/cli/memories"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/utilizer"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.recall(), c.why()}
}

func (c commands) recall() *cobra.Command {
	req := &mnemev1.RecallRequest{}
	var answer bool
	var given queryFlags
	var chosen string
	cmd := &cobra.Command{
		Use:   "recall --user USER --query TEXT [--messages FILE]",
		Short: "Show the memories that a query recalls",
		Long: "recall prints the profile for a query, and the memories that it cites. --messages adds the previous\n" +
			"messages, so that recall understands a query such as \"and for her?\". The file has a JSON list as for chat\n" +
			"completions, oldest first. recall ignores messages of the roles system and developer. It accepts at most 20\n" +
			"messages of the roles user, assistant and tool, with at most 4,096 bytes each. Mneme does not store them:\n" +
			"\n" +
			`  [{"role":"user","content":"What can I cook for my sister?"},{"role":"assistant","content":"For when?"}]`,
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := given.read(req, cmd.InOrStdin())
			if err != nil {
				return err
			}
			if req.Filter, err = memories.ParseFilter(chosen); err != nil {
				return err
			}
			return c.runRecall(cmd.Context(), req, answer)
		},
	}
	f := cmd.Flags()
	given.add(cmd, req)
	memories.FilterFlag(cmd, &chosen)
	f.BoolVar(&answer, "answer", false, "answer the query, too")
	return cmd
}

// queryFlags are the flags of a query that a request does not hold as they are.
type queryFlags struct{ asOf, messages string }

// add adds the flags of a query, also those that a request holds.
func (q *queryFlags) add(cmd *cobra.Command, req *mnemev1.RecallRequest) {
	f := cmd.Flags()
	f.StringVar(&req.UserId, "user", "", "the user")
	f.StringVar(&req.Query, "query", "", "the query")
	f.Uint32Var(&req.Candidates, "candidates", 0,
		"number of candidates to retrieve (default 30, or the number of memories if it is larger)")
	f.Uint32Var(&req.Memories, "memories", 0, "most memories to show; the word budget may show fewer (default 20)")
	f.Uint32Var(&req.WordBudget, "words", 0, "maximum number of words in the profile (default 400)")
	f.StringVar(&q.asOf, "as-of", "", "recall the memories that held on this day, YYYY-MM-DD (default: now, or the time "+
		"that the query names)")
	f.StringVar(&q.messages, "messages", "",
		"file with the previous messages, a JSON list as for chat completions; - reads standard input")
	command.Require(cmd, "user", "query")
}

// read reads the values of the flags into a request.
func (q *queryFlags) read(req *mnemev1.RecallRequest, stdin io.Reader) error {
	if err := setAsOf(req, q.asOf); err != nil {
		return err
	}
	return setMessages(req, q.messages, stdin)
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
	show := func(s *console.Session, r *mnemev1.RecallResponse) error {
		if err := c.printUnknown(ctx, s, req.GetUserId(), r); err != nil {
			return err
		}
		PrintRecall(c.Console, r, s.Traces)
		return nil
	}
	if !answer {
		return console.Show(ctx, c.Console, (*console.Session).Recall, req, show)
	}
	return console.Show(ctx, c.Console, (*console.Session).Answer, &mnemev1.AnswerRequest{Recall: req},
		func(s *console.Session, res *mnemev1.AnswerResponse) error {
			if err := show(s, res.GetRecall()); err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "\nanswer: %s\n", command.Printable(res.GetAnswer()))
			return nil
		})
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
			cited.GetIndex(), m.GetId(), memories.KindName(m.GetKind()), memories.EventTime(m), m.GetVersion(),
			memories.StatusName(m.GetStatus()), explored)
	}
	fmt.Fprintf(c.Out, "%.1f ms", r.GetLatencyMs())
	if traces != "" {
		fmt.Fprintf(c.Out, ", trace %s/traces/%s", traces, r.GetTraceId())
	}
	fmt.Fprintln(c.Out)
}

// maxMessagesFile limits the size of a file of messages, in bytes.
const maxMessagesFile = 4 << 20

// setMessages reads the messages of a file into a request. Without a file the request has no messages.
func setMessages(req *mnemev1.RecallRequest, file string, stdin io.Reader) error {
	switch file {
	case "":
		return nil
	case "-":
		return readMessages(req, "standard input", stdin)
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return command.Usage(err)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return readMessages(req, file, f)
}

// chatMessage is a message of chat completions, with its text fields only.
type chatMessage struct {
	Role    string      `json:"role"`
	Content chatContent `json:"content"`
}

// chatContent is a text, or the texts of a list of parts. Null means no text.
type chatContent string

// UnmarshalJSON implements json.Unmarshaler.
func (c *chatContent) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*string)(c)) == nil {
		return nil
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(data, &parts) != nil {
		return errors.New(`content is neither a text nor a list of parts such as {"type":"text","text":"Hello"}`)
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	*c = chatContent(strings.Join(texts, "\n"))
	return nil
}

// readMessages drops messages that are no part of the conversation. These are instructions to the model, and messages
// without a text, such as calls of tools. The service checks the rest.
func readMessages(req *mnemev1.RecallRequest, name string, from io.Reader) error {
	var messages []json.RawMessage
	data, err := io.ReadAll(io.LimitReader(from, maxMessagesFile+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxMessagesFile {
		return command.Usage(fmt.Errorf("%s is longer than %d bytes", name, maxMessagesFile))
	}
	if err := json.Unmarshal(data, &messages); err != nil {
		return command.Usage(fmt.Errorf(`%s: want a JSON list such as [{"role":"user","content":"Hello"}]: %w`, name, err))
	}
	for i, one := range messages {
		var m chatMessage
		if err := json.Unmarshal(one, &m); err != nil {
			return command.Usage(fmt.Errorf("%s: messages[%d]: %w", name, i, err))
		}
		if m.Content != "" && m.Role != "system" && m.Role != "developer" {
			req.Messages = append(req.Messages, &mnemev1.Message{Role: m.Role, Content: string(m.Content)})
		}
	}
	return nil
}
