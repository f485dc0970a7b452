// Command scriptedmodel runs another command with a scripted model server in place of a model. It serves to measure
// the calls of a session without a model. The server's answers have no other use.
//
//	go run ./test/scriptedmodel bin/mneme eval formation --policy llm --data FILE
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scriptedmodel:", err)
	}
	os.Exit(code)
}

// run returns the command's exit code.
func run(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		return 2, errors.New("want a command to run")
	}
	server, err := llmtest.Start()
	if err != nil {
		return 1, err
	}
	defer server.Stop()
	cfg := server.Config()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the caller's own command
	cmd.Env = append(os.Environ(), "MNEME_LLM_BASE_URL="+cfg.BaseURL, "MNEME_LLM_MODEL="+cfg.Model)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
