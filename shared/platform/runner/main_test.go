package runner_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

type keyed struct {
	Key config.Secret `env:"MNEME_TEST_KEY" desc:"key of the door"`
	Way string        `env:"MNEME_TEST_WAY" envDefault:"in" oneof:"in|out" desc:"way to go"`
}

func command(args []string, environ map[string]string, app *runner.App) (code int, stdout, stderr string) {
	s := runner.Define("door", "Opens and closes.",
		func(context.Context, keyed, *telemetry.Telemetry) (*runner.App, error) {
			return app, nil
		}, runner.Default(runner.AddrVariable, "127.0.0.1:7999"))
	var out bytes.Buffer
	var errs output
	if environ == nil {
		environ = map[string]string{}
	}
	code = runner.Execute(context.Background(), s, args, &out, runner.Options{Environ: environ, Stderr: &errs})
	return code, out.String(), errs.String()
}

func TestCommandLine(t *testing.T) {
	set := map[string]string{"MNEME_TEST_KEY": "s3same", "MNEME_TEST_WAY": "out"}
	wrong := map[string]string{"MNEME_TEST_WAY": "up", "MNEME_DRAIN_DELAY": "-1s"}
	for name, c := range map[string]struct {
		args           []string
		environ        map[string]string
		code           int
		stdout, stderr []string
	}{
		"help": {[]string{"--help"}, nil, 0, []string{"Opens and closes.", "--check-config", "MNEME_TEST_KEY",
			"default 127.0.0.1:7999", "in | out"}, nil},
		"version": {[]string{"--version"}, nil, 0, []string{"door " + runner.Version()}, nil},
		"print": {[]string{"--print-config"}, set, 0,
			[]string{"MNEME_TEST_KEY=***\n", "MNEME_TEST_WAY=out\n", "MNEME_HTTP_ADDR=127.0.0.1:7999\n"}, nil},
		"check good": {[]string{"--check-config"}, set, 0, []string{"valid"}, nil},
		"check bad":  {[]string{"--check-config"}, wrong, 2, nil, []string{"MNEME_TEST_WAY", "MNEME_DRAIN_DELAY"}},
		"check misspelt": {[]string{"--check-config"}, map[string]string{"MNEME_TEST_KEYS": "x"}, 2, nil,
			[]string{"did you mean MNEME_TEST_KEY?"}},
		"print bad":      {[]string{"--print-config"}, wrong, 2, nil, []string{"MNEME_TEST_WAY"}},
		"run bad":        {nil, wrong, 2, nil, []string{"one of in, out", "zero or more"}},
		"unknown flag":   {[]string{"--fast"}, nil, 2, nil, []string{"-fast"}},
		"extra argument": {[]string{"now"}, nil, 2, nil, []string{`"now"`}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(c.args, c.environ, &runner.App{})
			if code != c.code || strings.Contains(stdout+stderr, "s3same") {
				t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			for _, want := range c.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("%q is missing in:\n%s", want, stdout)
				}
			}
			for _, want := range c.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q is missing in:\n%s", want, stderr)
				}
			}
		})
	}
}

func TestFailureIsLoggedOnceAndExitsWithOne(t *testing.T) {
	code, _, stderr := command(nil, map[string]string{"MNEME_HTTP_ADDR": "127.0.0.1:0", "MNEME_LOG_FORMAT": "text"},
		&runner.App{
			Background: []runner.Task{{Name: "lead", Run: func(context.Context) error { return errors.New("lost the lease") }}},
		})
	if code != runner.ExitFailed || strings.Count(stderr, "lost the lease") != 1 ||
		!strings.Contains(stderr, "level=ERROR") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

func TestMisspeltVariablesAreWarnedOf(t *testing.T) {
	i := launch(t, serving(&runner.App{}), map[string]string{"MNEME_TEST_TOPICS": "x"})
	if err := i.end(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(i.log.String(), `"meant":"MNEME_TEST_TOPIC"`) {
		t.Errorf("not warned:\n%s", i.log)
	}
}

func TestSettingsAreThoseOfTheServiceThenTheBase(t *testing.T) {
	s := serving(nil)
	rows := s.Settings()
	if s.Name() != "probe" || s.Summary() == "" || rows[0].Name != "MNEME_TEST_TOPIC" ||
		rows[1].Name != runner.AddrVariable {
		t.Errorf("%s: %+v", s.Name(), rows)
	}
	for _, row := range rows {
		if row.Description == "" {
			t.Errorf("%s has no description", row.Name)
		}
	}
}

// stubborn ends only after two signals: its background task ignores the first.
func stubborn() runner.Service {
	return runner.Define("stubborn", "Goes on.", func(context.Context, own, *telemetry.Telemetry) (*runner.App, error) {
		return &runner.App{
			Handler: http.NotFoundHandler(),
			Background: []runner.Task{{Name: "goes on", Run: func(ctx context.Context) error {
				<-ctx.Done()
				fmt.Println("heard")
				if os.Getenv("MNEME_TEST_CHILD") == "obedient" {
					return nil
				}
				select {}
			}}},
		}, nil
	})
}

// child starts this test binary as a service and waits for its start message.
func child(t *testing.T, mood string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MNEME_TEST_CHILD="+mood, "MNEME_SHUTDOWN_TIMEOUT=1h")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if strings.Contains(lines.Text(), `"started"`) {
			return cmd, bufio.NewScanner(stdout)
		}
	}
	t.Fatal("the service did not start")
	return nil, nil
}

func TestFirstSignalEndsInOrder(t *testing.T) {
	cmd, stdout := child(t, "obedient")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !stdout.Scan() || stdout.Text() != "heard" {
		t.Errorf("background task was not cancelled: %q", stdout.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	cmd, stdout := child(t, "stubborn")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	stdout.Scan() // the first signal has arrived
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != runner.ExitFailed {
		t.Errorf("ended with %v", err)
	}
}
