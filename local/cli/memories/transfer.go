package memories

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/transfer"
)

func (c commands) export() *cobra.Command {
	var user, file string
	cmd := &cobra.Command{
		Use:   "export --user USER",
		Short: "Write the memories, turns and sessions of a user as JSON lines",
		Args:  command.Args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.runExport(cmd.Context(), user, file) },
	}
	cmd.Flags().StringVar(&user, "user", "", "the user")
	cmd.Flags().StringVar(&file, "out", "", "file to write (default: standard output)")
	command.Require(cmd, "user")
	return cmd
}

func (c commands) runExport(ctx context.Context, user, file string) (err error) {
	s, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	out := c.Out
	if file != "" {
		f, opened := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
		if opened != nil {
			return command.Usage(opened)
		}
		defer func() {
			if closed := f.Close(); err == nil {
				err = closed
			}
			if err != nil {
				err = errors.Join(err, os.Remove(file)) // an incomplete export is removed
			}
		}()
		out = f
	}
	lines, err := download(ctx, s, user, out)
	if err != nil || lines > 1 { // the first line is the header
		return err
	}
	unknown, err := IsUnknown(ctx, s, user)
	if unknown {
		fmt.Fprintln(c.Err, UnknownUser(user))
	}
	return err
}

// download writes the parts of an export, and returns the number of lines.
func download(ctx context.Context, s *console.Session, user string, out io.Writer) (lines int, err error) {
	stream, err := s.ExportUser(ctx, connect.NewRequest(&mnemev1.ExportUserRequest{UserId: user}))
	if err != nil {
		return 0, err
	}
	defer func() {
		if closed := stream.Close(); err == nil {
			err = closed
		}
	}()
	for stream.Receive() {
		lines += bytes.Count(stream.Msg().GetData(), []byte("\n"))
		if _, err := out.Write(stream.Msg().GetData()); err != nil {
			return lines, fmt.Errorf("write export: %w", err)
		}
	}
	return lines, stream.Err()
}

func (c commands) importUser() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "import --user USER FILE",
		Short: "Import an export for a user without memories",
		Long: "import writes an export into the empty bank of a user. The memories keep their ids, also under\n" +
			"another user. An import that fails keeps the lines that it has written. Erase the user before you\n" +
			"import again.",
		Args: command.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error { return c.runImport(cmd.Context(), user, a[0]) },
	}
	cmd.Flags().StringVar(&user, "user", "", "the user")
	command.Require(cmd, "user")
	return cmd
}

func (c commands) runImport(ctx context.Context, user, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return command.Usage(err)
	}
	defer f.Close()
	s, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	counts, anew, err := Import(ctx, s, user, f)
	if err != nil {
		return inFile(file, err)
	}
	if c.JSON {
		return command.WriteJSON(c.Out, map[string]any{"user": user, "imported": counts, "embedded_anew": anew})
	}
	fmt.Fprintf(c.Out, "imported %d memories, %d turns, %d sessions and %d core block\n",
		counts.Memories, counts.Turns, counts.Sessions, counts.Core)
	if anew {
		fmt.Fprintln(c.Out, "the export has vectors of another embedding model; its memories were embedded again")
	}
	return nil
}

// inFile adds the file to an error about its contents, whether this command or the service found it.
func inFile(file string, err error) error {
	var refused *connect.Error
	if errors.As(err, &refused) && refused.Code() == connect.CodeInvalidArgument &&
		!strings.HasPrefix(refused.Message(), "user_id") {
		return command.Usage(fmt.Errorf("%s: %s", file, refused.Message()))
	}
	if fault.IsTerminal(err) {
		return command.Usage(fmt.Errorf("%s: %w", file, err))
	}
	return err
}

// Import imports an export page by page.
func Import(ctx context.Context, s *console.Session, user string, in io.Reader) (bank.Counts, bool, error) {
	pages, err := transfer.NewPages(in)
	if err != nil {
		return bank.Counts{}, false, err
	}
	var now *mnemev1.BankCounts
	anew := false
	for {
		page, err := pages.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return bank.Counts{}, false, err
		}
		res, err := s.ImportUser(ctx, connect.NewRequest(&mnemev1.ImportUserRequest{
			UserId: user, Header: string(pages.HeaderLine), Lines: page.Lines, SoFar: now,
			FirstLine: uint64(page.First), //nolint:gosec // a line's number
		}))
		if err != nil {
			return bank.Counts{}, false, err
		}
		now, anew = res.Msg.GetSoFar(), anew || res.Msg.GetEmbeddedAnew()
	}
	counts := bank.Counts{
		Memories: int(now.GetMemories()), Turns: int(now.GetTurns()), //nolint:gosec // counts
		Sessions: int(now.GetSessions()), Core: int(now.GetCore()), //nolint:gosec // counts
	}
	return counts, anew, pages.Finish(counts)
}
