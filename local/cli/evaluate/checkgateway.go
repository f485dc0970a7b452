package evaluate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/client"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

const (
	// recallEvery is the pause between two recalls of a check.
	recallEvery = time.Second
	// eraseTimeout limits the erasure at the end of a check.
	eraseTimeout = 15 * time.Second
)

func (c commands) checkGateway() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Check that a gateway stores and recalls a test session",
		Long: "gateway adds a session of a new user, closes it, and waits until a recall returns a memory of it. Then it\n" +
			"erases the user. The key needs the scopes ingest and recall. Without the scope erase the user stays.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, g, err := c.Gateway()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return c.runCheckGateway(ctx, g)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "maximum duration of the command")
	return cmd
}

func (c commands) runCheckGateway(ctx context.Context, g *client.Client) error {
	user, began := "check-"+uuid.NewString(), time.Now()
	said := client.Turn{Role: "user", Speaker: "Ines", Text: "I am allergic to peanuts, and I live in Porto."}
	added, err := g.AddTurns(ctx, user, "check", []client.Turn{said})
	if err != nil {
		return err
	}
	if err := g.CloseSession(ctx, user, "check", added[len(added)-1].ID); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "ingested after %.1f s\n", time.Since(began).Seconds())
	erase := func() error {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), eraseTimeout)
		defer cancel()
		_, err := g.UserData.EraseUser(within, connect.NewRequest(&mnemev1.EraseUserRequest{UserId: user}))
		if connect.CodeOf(err) == connect.CodePermissionDenied {
			fmt.Fprintf(c.Err, "note: the key lacks the scope erase: user %s stays\n", user)
			return nil
		}
		return err
	}
	if err := awaitRecall(ctx, g, user); err != nil {
		return errors.Join(err, erase())
	}
	fmt.Fprintf(c.Out, "recalled after %.1f s\n", time.Since(began).Seconds())
	return erase()
}

// awaitRecall recalls until the answer contains a memory of the bank. Turns from the window alone would not prove
// that memories are formed.
func awaitRecall(ctx context.Context, g *client.Client, user string) error {
	tick := time.NewTicker(recallEvery)
	defer tick.Stop()
	last := errors.New("nothing was recalled")
	for {
		res, err := g.Utilizer.Recall(ctx, connect.NewRequest(&mnemev1.RecallRequest{UserId: user,
			Query: "What is Ines allergic to?"}))
		switch {
		case err == nil && slices.ContainsFunc(res.Msg.GetCited(), func(m *mnemev1.CitedMemory) bool {
			return strings.Contains(m.GetMemory().GetContent(), "peanuts")
		}):
			return nil
		case err != nil && ctx.Err() == nil:
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not recalled in time: %w", last)
		case <-tick.C:
		}
	}
}
