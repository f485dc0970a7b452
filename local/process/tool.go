package process

import (
	"errors"
	"fmt"
	"os/exec"
)

// ErrMissingTool is returned when a program that must be installed (such as java, redis-server or go) is not found.
var ErrMissingTool = errors.New("required program not found")

// FindTool looks up a program in PATH. The hint says how to install it. Without the program, the error is
// [ErrMissingTool].
func FindTool(name, hint string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %s is not in PATH: %s", ErrMissingTool, name, hint)
	}
	return path, nil
}
