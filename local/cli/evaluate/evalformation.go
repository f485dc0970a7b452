// Package evaluate measures Mneme on files of conversations, and checks a model or a gateway.
package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.eval(), c.check()}
}

// eval is the parent of the measuring commands.
func (c commands) eval() *cobra.Command {
	return command.Group("eval", "Measure formation and recall on files of conversations", "",
		c.evalFormation(), c.evalRecall())
}

func (c commands) evalFormation() *cobra.Command {
	var (
		file, out, labels string
		sample            int
		a                 command.Formation
	)
	cmd := &cobra.Command{
		Use:   "formation (--data FILE [--sample N --out FILE] | --labels FILE)",
		Short: "Measure the memories that strategies form from conversations",
		Long: "formation forms the memories of a file of conversations in this process, with each strategy. It\n" +
			"prints the share of turns that the filter drops, the share of evidence turns that it keeps, the\n" +
			"share of short answers in the memories of their evidence, duplicates, memories per user, and model\n" +
			"calls and tokens per session. FILE is a LoCoMo file, or a file for ingest, which has no questions.\n\n" +
			"--sample writes a sheet of N active memories of the first strategy: a JSON object a line, with the\n" +
			"turns around the memory. People fill in worth (yes, part, no), alone, kind_right and true_now (yes,\n" +
			"no). --labels prints the shares.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case labels != "":
				return c.runLabels(labels)
			case file == "":
				return command.Usage(errors.New("--data is missing: a file of conversations"))
			case (sample > 0) != (out != ""):
				return command.Usage(errors.New("--sample, a number over 0, and --out, the file of the sheet, go together"))
			case sample > 0:
				return c.runSample(cmd.Context(), file, a, sample, out)
			}
			return c.runEvalFormation(cmd.Context(), file, a)
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "data", "", "file of conversations")
	f.IntVar(&sample, "sample", 0, "number of memories to write into a sheet for people to label")
	f.StringVar(&out, "out", "", "file of the sheet")
	f.StringVar(&labels, "labels", "", "labelled sheet to count")
	a.Flags(f)
	return cmd
}

func (c commands) runEvalFormation(ctx context.Context, file string, a command.Formation) error {
	variants, free, err := a.Open(ctx, c.Err)
	if err != nil {
		return err
	}
	defer free()
	report, err := formation.Evaluate(ctx, formation.Options{Path: file, Variants: variants, Embedder: builtin.New(),
		Progress: c.Err})
	if err != nil {
		return err
	}
	if c.JSON {
		return command.WriteJSON(c.Out, report)
	}
	return report.Render(c.Out)
}

// runSample writes a sheet of memories for people to label.
func (c commands) runSample(ctx context.Context, file string, a command.Formation, n int, path string) (err error) {
	variants, free, err := a.Open(ctx, c.Err)
	if err != nil {
		return err
	}
	defer free()
	sheets, err := formation.Sample(ctx, formation.Options{Path: file, Variants: variants, Embedder: builtin.New()}, n)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // labels take work: none are overwritten
	if err != nil {
		return command.Usage(fmt.Errorf("write the sheet: %w", err))
	}
	lines := json.NewEncoder(out)
	for _, s := range sheets {
		err = errors.Join(err, lines.Encode(s))
	}
	if err = errors.Join(err, out.Close()); err == nil {
		fmt.Fprintf(c.Err, "%d memories in %s\n", len(sheets), path)
	}
	return err
}

// runLabels counts the labels of a sheet.
func (c commands) runLabels(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return command.Usage(fmt.Errorf("read the sheet: %w", err))
	}
	defer in.Close()
	judged, err := formation.Judge(in)
	if err != nil {
		return command.Usage(err)
	}
	if c.JSON {
		return command.WriteJSON(c.Out, judged)
	}
	return judged.Render(c.Out)
}
