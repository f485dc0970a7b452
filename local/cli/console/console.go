// Package console holds the state that all commands of mneme share: the global flags, the connection to a Mneme, and
// the output.
package console

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// Console is one run of the command line. Results go to Out, all other output to Err.
type Console struct {
	Out, Err io.Writer
	// JSON asks for JSON instead of tables.
	JSON bool
	// Dir is the data folder of the local Mneme.
	Dir    string
	Target Target
}

// Flags adds the flags of all commands to the root command, and the check of their values.
func (c *Console) Flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.BoolVar(&c.JSON, "json", false, "print JSON instead of tables")
	f.StringVar(&c.Dir, "data", command.DefaultDir, "data folder of the local Mneme (mneme up)")
	c.Target.flags(f)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, unknown := range config.Unrecognized(config.Environ(), nil) {
			fmt.Fprintf(c.Err, "mneme: warning: the variable %s\n", command.Printable(unknown.String()))
		}
		return checkTexts(cmd)
	}
}

// Table makes a table that renders to the output. The name of its rows is for a table without any.
func (c *Console) Table(rows string, header ...any) *command.Table {
	t := command.NewTable(c.Out, header...)
	t.Rows = rows
	return t
}

// texts are the flags that are sent as text. Flags that name files may have any bytes.
var texts = []string{"user", "query", "expect", "expect-text", "tenant", "prefix", "handler"}

// checkTexts refuses texts that every service refuses.
func checkTexts(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(texts, f.Name) && !utf8.ValidString(f.Value.String()) {
			err = command.Usage(fmt.Errorf("--%s is not valid UTF-8", f.Name))
		}
	})
	return err
}

// OneID requires one argument, an id.
func OneID() cobra.PositionalArgs {
	return command.Args(cobra.MatchAll(cobra.ExactArgs(1), func(_ *cobra.Command, given []string) error {
		if !utf8.ValidString(given[0]) {
			return errors.New("ID is not valid UTF-8")
		}
		return nil
	}))
}
