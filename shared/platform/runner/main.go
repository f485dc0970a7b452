package runner

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Exit codes of Execute.
const (
	ExitOK     = 0 // ended as asked
	ExitFailed = 1 // an error while running
	ExitUsage  = 2 // wrong arguments or configuration; a restart will not help
)

// Main is the complete main function of a service. The first SIGINT or SIGTERM ends the service in order. The
// second ends it at once, with ExitFailed.
func Main(s Service) {
	ctx, end := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2) // room for both, so the second is not lost during the work for the first
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		end()
		<-signals
		os.Exit(ExitFailed)
	}()
	os.Exit(Execute(ctx, s, os.Args[1:], os.Stdout, Options{}))
}

// Execute runs the command line of a service and returns the exit code. It writes an error to o.Stderr, once.
func Execute(ctx context.Context, s Service, args []string, stdout io.Writer, o Options) int {
	o = o.filled()
	flags := flag.NewFlagSet(s.name, flag.ContinueOnError)
	flags.SetOutput(o.Stderr)
	flags.Usage = func() { s.help(flags.Output(), flags) }
	version := flags.Bool("version", false, "print the version and exit")
	show := flags.Bool("print-config", false, "print the configuration in force, without secrets, and exit")
	check := flags.Bool("check-config", false, "check the configuration, unknown variables included, and exit")
	if wantsHelp(args) {
		flags.SetOutput(stdout)
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return ExitOK
		}
		return ExitUsage
	}
	switch {
	case flags.NArg() > 0:
		return complain(o.Stderr, s, fmt.Errorf("unexpected argument %q", flags.Arg(0)), ExitUsage)
	case *version:
		_, _ = fmt.Fprintln(stdout, s.name, Version())
		return ExitOK
	case *show:
		return s.printConfig(stdout, o)
	case *check:
		return s.checkConfig(stdout, o)
	}
	return s.execute(ctx, o)
}

func (s Service) execute(ctx context.Context, o Options) int {
	l, err := s.load(o.Environ)
	if err != nil {
		return complain(o.Stderr, s, err, ExitUsage)
	}
	if err := Run(ctx, s, o); err != nil {
		telemetry.NewLogger(l.base.Telemetry, o.Stderr).Error("service ended", "service", s.name, "error", err.Error())
		return ExitFailed
	}
	return ExitOK
}

func wantsHelp(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" })
}

func complain(w io.Writer, s Service, err error, code int) int {
	_, _ = fmt.Fprintf(w, "%s: %v\n", s.name, err)
	return code
}

func (s Service) help(w io.Writer, flags *flag.FlagSet) {
	_, _ = fmt.Fprintf(w, "%s - %s\n\nFlags:\n", s.name, s.summary)
	flags.VisitAll(func(f *flag.Flag) { _, _ = fmt.Fprintf(w, "  --%s\n        %s\n", f.Name, f.Usage) })
	_, _ = fmt.Fprintf(w, "\nEnvironment:\n%s", config.Table(s.rows))
}

// printConfig writes NAME=value lines. With the secrets filled in, they are an environment file.
func (s Service) printConfig(stdout io.Writer, o Options) int {
	l, err := s.load(o.Environ)
	if err != nil {
		return complain(o.Stderr, s, err, ExitUsage)
	}
	for _, v := range l.values {
		_, _ = fmt.Fprintf(stdout, "%s=%s\n", v.Name, v.Text)
	}
	return ExitOK
}

func (s Service) checkConfig(stdout io.Writer, o Options) int {
	_, err := s.load(o.Environ)
	problems := []error{err}
	for _, unknown := range config.Unrecognized(o.Environ, s.rows) {
		problems = append(problems, errors.New(unknown.String()))
	}
	if err := errors.Join(problems...); err != nil {
		return complain(o.Stderr, s, err, ExitUsage)
	}
	_, _ = fmt.Fprintln(stdout, "the configuration is valid")
	return ExitOK
}

// version is the version that the build stamps with -ldflags; empty without a stamp.
var version string

// Version is the version of the running binary: the build's stamp, else the module version or the source revision
// that the Go toolchain recorded, else "devel".
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return "devel"
}
