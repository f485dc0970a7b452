package erasure

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/cli/memories"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// erasePoll is the pause between two requests for an erasure's state.
const erasePoll = 250 * time.Millisecond

// errLeft says that the scan after an erasure found data.
var errLeft = errors.New("something is left of the user, or new data has arrived: see the column \"after\"")

func (c commands) erase() *cobra.Command {
	var user, begun string
	var yes bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "erase --user USER [--erasure ID]",
		Short: "Erase all data of a user, and prove it by a scan",
		Long: "erase removes all data of a user: memories, turns, sessions and the core block, the working memory,\n" +
			"verbatim items, the state of mem0's API, answers to requests, decisions on turns, recorded calls of\n" +
			"models, traces of recalls, deliveries of webhooks, dead letters and workflow histories. Turns after\n" +
			"the request are new data, and stay. The command waits until a scan of every store finds nothing, and\n" +
			"fails if data is left. With --erasure it waits for an earlier erasure and starts no new one.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wait <= 0 {
				return command.Usage(fmt.Errorf("--timeout is %s, want more than 0s", wait))
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), wait, fmt.Errorf("the timeout of %s is over", wait))
			defer cancel()
			return c.runErase(ctx, user, begun, yes, cmd.InOrStdin())
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "the user")
	cmd.Flags().StringVar(&begun, "erasure", "", "id of an earlier erasure to wait for")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	cmd.Flags().DurationVar(&wait, "timeout", 5*time.Minute, "maximum wait for the erasure, which continues after it")
	command.Require(cmd, "user")
	return cmd
}

func (c commands) runErase(ctx context.Context, user, begun string, yes bool, in io.Reader) error {
	s, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	before, err := awaitScan(ctx, s, user)
	if err != nil {
		return err
	}
	if begun == "" && !yes {
		if err := c.confirm(user, total(before), in); err != nil {
			return err
		}
	}
	proof, err := prove(ctx, c.Console, s, user, begun, before)
	if err != nil {
		return err
	}
	if err := c.printErased(user, proof, begun != ""); err != nil {
		return err
	}
	if proof.TotalAfter() > 0 {
		return errLeft
	}
	return nil
}

// Proof is a proved erasure, with scans of the user's data before and after it.
type Proof struct {
	ID            string
	Proved        *mnemev1.GetErasureResponse
	Before, After *mnemev1.ScanUserResponse
}

// TotalBefore is the number of the user's objects before the erasure.
func (p Proof) TotalBefore() uint64 { return total(p.Before) }

// TotalAfter is the number of the user's objects after the erasure. New turns of the user count.
func (p Proof) TotalAfter() uint64 { return total(p.After) }

// Erase erases a user and waits for the proof.
func Erase(ctx context.Context, c *console.Console, s *console.Session, user string) (Proof, error) {
	before, err := awaitScan(ctx, s, user)
	if err != nil {
		return Proof{}, err
	}
	return prove(ctx, c, s, user, "", before)
}

// prove waits for the proof of an erasure. Without the id of a begun erasure it requests a new one.
func prove(ctx context.Context, c *console.Console, s *console.Session, user, begun string,
	before *mnemev1.ScanUserResponse) (proof Proof, err error) {
	proof = Proof{ID: begun, Before: before}
	if begun == "" {
		res, err := s.EraseUser(ctx, connect.NewRequest(&mnemev1.EraseUserRequest{UserId: user}))
		if err != nil {
			return proof, err
		}
		proof.ID = res.Msg.GetErasureId()
	}
	if proof.Proved, err = (commands{c}).awaitErased(ctx, s, user, proof.ID, begun != ""); err != nil {
		return proof, err
	}
	proof.After, err = awaitNothing(ctx, s, user)
	return proof, err
}

// confirm requests a confirmation at the terminal.
func (c commands) confirm(user string, objects uint64, in io.Reader) error {
	if !isInteractive(in) {
		return command.Usage(errors.New("erase asks for confirmation: add --yes if there is no terminal"))
	}
	fmt.Fprintf(c.Err, "Erase all %d objects of user %s? This cannot be undone. Type yes: ", objects,
		command.Printable(user))
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read answer: %w", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("nothing was erased")
	}
	return nil
}

func isInteractive(in io.Reader) bool {
	f, ok := in.(io.Writer)
	return ok && command.IsTerminal(f)
}

func scan(ctx context.Context, s *console.Session, user string) (*mnemev1.ScanUserResponse, error) {
	res, err := s.ScanUser(ctx, connect.NewRequest(&mnemev1.ScanUserRequest{UserId: user}))
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
}

// patience is how long a service may refuse the scan before an erasure. A busy store refuses it for a moment.
const patience = 5 * time.Second

// awaitScan scans as soon as the service is available.
func awaitScan(ctx context.Context, s *console.Session, user string) (found *mnemev1.ScanUserResponse, err error) {
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var refused error
	err = console.Poll(soon, erasePoll, func() (bool, error) {
		found, refused = scan(ctx, s, user)
		return refused == nil, console.IgnoreUnavailable(ctx, refused)
	})
	if err != nil && refused != nil {
		err = refused
	}
	return found, err
}

func total(scan *mnemev1.ScanUserResponse) uint64 {
	var n uint64
	for _, c := range scan.GetCounts() {
		n += c.GetCount()
	}
	return n
}

// awaitErased waits until the service has proved the erasure, and prints each change of the awaited condition. The
// service may not have an erasure yet that the user of the command has named. It then answers that it is pending.
func (c commands) awaitErased(
	ctx context.Context, s *console.Session, user, id string, named bool,
) (*mnemev1.GetErasureResponse, error) {
	var last *mnemev1.GetErasureResponse
	shown := ""
	err := console.Poll(ctx, erasePoll, func() (bool, error) {
		res, err := s.GetErasure(ctx, connect.NewRequest(&mnemev1.GetErasureRequest{UserId: user, ErasureId: id}))
		if err != nil {
			return false, console.IgnoreUnavailable(ctx, err)
		}
		last = res.Msg
		if now := waitsFor(last); now != shown {
			shown = now
			fmt.Fprintf(c.Err, "erasure %s waits for %s\n", id, now)
		}
		return last.GetState() == mnemev1.ErasureState_ERASURE_STATE_DONE, nil
	})
	if err == nil {
		return last, nil
	}
	cause := context.Cause(ctx)
	if cause == nil {
		return nil, err
	}
	if named && last.GetState() == mnemev1.ErasureState_ERASURE_STATE_PENDING {
		return nil, fmt.Errorf("erasure %s is not known, or waits for %s: %w; compare the id with the answer of the request",
			id, waitsFor(last), cause)
	}
	return nil, fmt.Errorf("erasure %s is accepted and continues, but is not proved yet: %w; it waits for %s. To wait "+
		"again: mneme erase --user %s --erasure %s. mneme erasures lists all running erasures", id, cause, waitsFor(last),
		command.Printable(user), id)
}

// waitsFor describes the reason of an erasure's wait.
func waitsFor(e *mnemev1.GetErasureResponse) string {
	if e.GetState() == mnemev1.ErasureState_ERASURE_STATE_RUNNING {
		return remainderText(e.GetRemaining())
	}
	return "the workflow of the user, which first writes the earlier turns"
}

// remainderText lists the stores that still hold data.
func remainderText(remaining []*mnemev1.StoreRemainder) string {
	if len(remaining) == 0 {
		return "the next scan"
	}
	stores := make([]string, len(remaining))
	for i, r := range remaining {
		stores[i] = fmt.Sprintf("%s (%d)", r.GetStore(), r.GetCount())
		if r.GetError() != "" {
			stores[i] = fmt.Sprintf("%s (%s)", r.GetStore(), r.GetError())
		}
	}
	return strings.Join(stores, ", ")
}

// settled is how long the scan after an erasure may find data that is about to disappear.
const settled = 3 * time.Second

// awaitNothing scans for a while until it finds no data. New turns of the user after the erasure stay.
func awaitNothing(ctx context.Context, s *console.Session, user string) (*mnemev1.ScanUserResponse, error) {
	soon, cancel := context.WithTimeout(ctx, settled)
	defer cancel()
	var last *mnemev1.ScanUserResponse
	err := console.Poll(soon, erasePoll, func() (bool, error) {
		found, err := scan(soon, s, user)
		if err != nil {
			return false, console.IgnoreUnavailable(soon, err)
		}
		last = found
		return total(found) == 0, nil
	})
	if last == nil {
		return nil, fmt.Errorf("scan after the erasure: %w", err)
	}
	return last, nil
}

// printErased prints the proof. A new erasure of a user without data takes one line. An earlier one may have found
// data.
func (c commands) printErased(user string, proof Proof, earlier bool) error {
	if c.JSON {
		return command.WriteJSON(c.Out, map[string]any{
			"user": user, "erasure_id": proof.ID, "erasure": console.JSON(proof.Proved), "before": console.JSON(proof.Before),
			"after": console.JSON(proof.After),
		})
	}
	doneAt := proof.Proved.GetDoneAt().AsTime().Format(time.RFC3339)
	if !earlier && proof.TotalBefore() == 0 && proof.TotalAfter() == 0 {
		fmt.Fprintf(c.Out, "%s; erasure %s was proved at %s\n", memories.UnknownUser(user), proof.ID, doneAt)
		return nil
	}
	left := map[string]uint64{}
	for _, n := range proof.After.GetCounts() {
		left[n.GetStore()] = n.GetCount()
	}
	t := c.Table("stores", "store", "before", "after")
	for _, n := range proof.Before.GetCounts() {
		t.AppendRow([]any{n.GetStore(), n.GetCount(), left[n.GetStore()]})
	}
	t.Render()
	fmt.Fprintf(c.Out, "erasure %s was proved at %s. No service reads these topics for the user again, "+
		"and their records expire by retention:\n", proof.ID, doneAt)
	for _, topic := range proof.After.GetTransport() {
		what := "ids only"
		if topic.GetTexts() {
			what = "texts"
		}
		fmt.Fprintf(c.Out, "  %-22s %s, kept %s\n", topic.GetTopic(), what, kept(topic.GetRetentionMs()))
	}
	return nil
}

// kept describes the retention of a topic.
func kept(ms int64) string {
	switch {
	case ms == 0:
		return "for the default time of the brokers"
	case ms < 0:
		return "for ever: set retention.ms"
	default:
		return "up to " + inWords(time.Duration(ms)*time.Millisecond)
	}
}

// inWords writes whole days or hours as such, and any other duration as Go does.
func inWords(d time.Duration) string {
	for _, unit := range []struct {
		name string
		span time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}} {
		switch n := d / unit.span; {
		case d%unit.span != 0 || n == 0:
		case n == 1:
			return "1 " + unit.name
		default:
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}
