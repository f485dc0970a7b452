package mneme

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/shared/dataset"
)

// ingested is the result of ingest.
type ingested struct {
	Users    int     `json:"users"`
	Sessions int     `json:"sessions"`
	Turns    int     `json:"turns"`
	Formed   bool    `json:"formed"`
	Seconds  float64 `json:"seconds"`
}

func (c *cli) ingest() *cobra.Command {
	var noWait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "ingest FILE",
		Short: "Publish the conversations of a file and wait until their memories are formed",
		Long: "ingest publishes a file's conversations as session events. The file is JSON lines, one turn each:\n\n" +
			`  {"user_id":"ana","session_id":"s1","turn_id":"s1:1","speaker":"Ana","role":"user","text":"I live in Porto.","time":"2026-03-01T10:00:00Z"}` + "\n\n" +
			"turn_id, speaker and role (user or assistant) may be left out, caption describes an image. Or it is a LoCoMo file, a JSON list\n" +
			"of samples: each becomes a user. Publishing a file again has no effect.",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error { return c.runIngest(cmd.Context(), a[0], !noWait, timeout) },
	}
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return when everything is published")
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait for the memories")
	return cmd
}

func (c *cli) runIngest(ctx context.Context, file string, wait bool, timeout time.Duration) error {
	sessions, err := readFile(file)
	if err != nil {
		return err
	}
	s, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	result := ingested{Users: len(users(sessions)), Sessions: len(sessions), Formed: wait}
	began := time.Now()
	if result.Turns, err = c.feed(ctx, s, sessions, wait, timeout); err != nil {
		return err
	}
	result.Seconds = time.Since(began).Seconds()
	if c.json {
		return writeJSON(c.out, result)
	}
	state := "formed"
	if !wait {
		state = "published"
	}
	fmt.Fprintf(c.out, "%s: %d turns in %d sessions of %d users, %.1f s\n", state, result.Turns, result.Sessions, result.Users, result.Seconds)
	return nil
}

// feed publishes sessions and, if asked to, waits for their memories, with progress bars. It returns the turns published.
func (c *cli) feed(ctx context.Context, s *session, sessions []dataset.Session, wait bool, timeout time.Duration) (int, error) {
	total := 0
	for _, one := range sessions {
		total += len(one.Turns)
	}
	bar := c.bar(total, "publishing turns")
	if err := s.publish(ctx, sessions, func(n int) { _ = bar.Add(n) }); err != nil {
		return 0, err
	}
	_ = bar.Finish()
	if !wait {
		return total, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	bar = c.bar(len(sessions), "forming sessions")
	if err := s.awaitFormed(ctx, sessions, func() { _ = bar.Add(1) }); err != nil {
		return total, err
	}
	_ = bar.Finish()
	return total, nil
}

func readFile(name string) ([]dataset.Session, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sessions, err := dataset.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return sessions, nil
}

// users are the users of sessions, in order of appearance.
func users(sessions []dataset.Session) []string {
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
