// Package conversations publishes conversations of files and waits until their memories are formed.
package conversations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.ingest()}
}

// ingested is the result of ingest.
type ingested struct {
	// Users, Sessions and Turns count the data that the service accepts. They exclude refused data.
	Users    int `json:"users"`
	Sessions int `json:"sessions"`
	Turns    int `json:"turns"`
	// Shortened counts the turns among them whose text was shortened.
	Shortened int `json:"shortened"`
	// Empty counts messages without text. Silent counts messages of systems and tools. Both are skipped.
	Empty  int  `json:"empty"`
	Silent int  `json:"silent"`
	Formed bool `json:"formed"`
	// Refused names each event that became a dead letter, with the reason.
	Refused []string `json:"refused"`
	// DeadLetters names each turn that became a dead letter although the service accepted it. Turns excludes them.
	DeadLetters []string `json:"dead_letters"`
	Seconds     float64  `json:"seconds"`
}

func (c commands) ingest() *cobra.Command {
	var noWait bool
	var user string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "ingest FILE",
		Short: "Publish the conversations of a file and wait until their memories are formed",
		Long: "ingest publishes the conversations of a file as session events. The file has JSON lines, one turn on each\n" +
			"line:\n" +
			"\n" +
			`  {"user_id":"ana","session_id":"s1","turn_id":"s1:1","speaker":"Ana","role":"user","text":"I live in Porto.",` +
			`"time":"2026-03-01T10:00:00Z"}` + "\n" +
			"\n" +
			"These fields are optional: turn_id, speaker, role, caption, metadata, agent_id, app_id and run_id. A turn_id\n" +
			"is unique among all turns of a user. By default it is derived from session, time, speaker and text. A role\n" +
			"is user, assistant or tool. A caption describes an image. Memories keep metadata (a JSON object), agent_id,\n" +
			"app_id and run_id. A text has at most 524,288 bytes. Mneme shortens a\n" +
			"text of more than 32,768 bytes: it keeps the first and the last part.\n" +
			"A turn without a text is skipped, and so are instructions of a system.\n" +
			"\n" +
			"The file may also be a LoCoMo file, a JSON list of samples. Each sample becomes a user. With --user, the file\n" +
			"may be a chat export: conversations.json of ChatGPT or Claude, a list of OpenAI's or LangChain's messages,\n" +
			"or objects with such a list in the field messages. Messages without a time get the time of the file.\n" +
			"Publishing a file again has no effect.",
		Args: command.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			return c.runIngest(cmd.Context(), a[0], user, !noWait, timeout)
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "user of the conversations of a chat export, which names no user")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return after publishing; do not wait for the memories")
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "maximum wait for the memories")
	return cmd
}

func (c commands) runIngest(ctx context.Context, file, user string, wait bool, timeout time.Duration) error {
	sessions, repairs, err := readFile(file, user)
	if err != nil {
		return err
	}
	s, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	began := time.Now()
	out, err := Feed(ctx, c.Console, s, sessions, wait, timeout)
	if err != nil {
		return err
	}
	result := ingested{
		Users: len(Users(out.Awaited)), Sessions: len(out.Awaited), Turns: out.Turns, Shortened: out.Shortened,
		Formed: wait, Empty: repairs.Empty, Silent: repairs.Silent, Refused: append([]string{}, out.Refused...),
		DeadLetters: append([]string{}, out.Dead...), Seconds: time.Since(began).Seconds(),
	}
	if err := c.printIngested(result, wait); err != nil {
		return err
	}
	if n := len(out.Refused); n > 0 {
		return fmt.Errorf("%d events were refused and became dead letters (`mneme replay --list`); the first: %s", n,
			out.Refused[0])
	}
	if n := len(out.Dead); n > 0 {
		return fmt.Errorf("%d turns became dead letters (`mneme replay --list`); the first: %s", n, out.Dead[0])
	}
	return nil
}

func (c commands) printIngested(result ingested, wait bool) error {
	if c.JSON {
		return command.WriteJSON(c.Out, result)
	}
	state := "formed"
	if !wait {
		state = "published"
	}
	fmt.Fprintf(c.Out, "%s: %d turns (%d shortened) in %d sessions of %d users, %d events refused, %d dead letters, "+
		"%.1f s\n", state, result.Turns, result.Shortened, result.Sessions, result.Users,
		len(result.Refused), len(result.DeadLetters), result.Seconds)
	if result.Empty+result.Silent > 0 {
		fmt.Fprintf(c.Out, "skipped: %d messages without text, %d messages of systems and tools\n", result.Empty,
			result.Silent)
	}
	return nil
}

// Feed publishes sessions with progress bars. With wait, it also waits for their memories.
func Feed(ctx context.Context, c *console.Console, s *console.Session, sessions []dataset.Session, wait bool,
	timeout time.Duration) (Published, error) {
	total := 0
	for _, one := range sessions {
		total += len(one.Turns)
	}
	var dead *deadLetters
	if wait {
		var err error
		if dead, err = watchDeadLetters(ctx, s); err != nil {
			return Published{}, err
		}
		defer dead.log.Close()
	}
	bar := command.NewBar(c.Err, total, "publishing turns")
	out, err := Publish(ctx, s, sessions, func(n int) { _ = bar.Add(n) })
	if err != nil {
		return out, err
	}
	_ = bar.Finish()
	if !wait {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	bar = command.NewBar(c.Err, len(out.Awaited), "forming sessions")
	if err := awaitFormed(ctx, s, out.Awaited, dead, func() { _ = bar.Add(1) }); err != nil {
		return out, err
	}
	_ = bar.Finish()
	out.Dead = dead.turns(sessions)
	out.Turns -= len(out.Dead)
	return out, nil
}

// readFile reads a file of conversations. Messages without a time get the time of the file.
func readFile(name, user string) ([]dataset.Session, dataset.Repairs, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, dataset.Repairs{}, command.Usage(err)
	}
	if err != nil {
		return nil, dataset.Repairs{}, err
	}
	defer f.Close()
	about, err := f.Stat()
	if err != nil {
		return nil, dataset.Repairs{}, err
	}
	sessions, repairs, err := dataset.Read(f, dataset.ReadOptions{User: user, Began: about.ModTime().UTC()})
	if err != nil {
		return nil, repairs, fmt.Errorf("%s: %w", name, err)
	}
	return sessions, repairs, nil
}

// Users returns the users of sessions, in order of appearance.
func Users(sessions []dataset.Session) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range sessions {
		if !seen[s.User] {
			seen[s.User] = true
			out = append(out, s.User)
		}
	}
	return out
}
