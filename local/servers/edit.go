package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// edit replaces a text, wherever it is in a file of a module, in what a server is built of. It is for what the server has no setting for.
type edit struct {
	file     string // below the module's folder
	old, new string
}

// overlay writes edited copies of a dependency's files to a folder and returns the file that tells `go build` to take them. A text that is
// not there is an error: another version of the module needs another look.
func overlay(ctx context.Context, tool, module, dependency, folder string, edits []edit) (string, error) {
	cmd := exec.CommandContext(ctx, tool, "mod", "download", "-json", dependency)
	cmd.Dir, cmd.Env = module, append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w", dependency, err)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return "", fmt.Errorf("go mod download %s: %w", dependency, err)
	}
	root, replaced := downloaded.Dir, map[string]string{}
	for i, e := range edits {
		source := filepath.Join(root, filepath.FromSlash(e.file))
		content, err := os.ReadFile(source) //nolint:gosec // of the module cache
		if err != nil {
			return "", err
		}
		if !bytes.Contains(content, []byte(e.old)) {
			return "", fmt.Errorf("%s of %s does not have %q: the edit has to follow the pinned version", e.file, dependency, e.old)
		}
		copied := filepath.Join(folder, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(copied, bytes.ReplaceAll(content, []byte(e.old), []byte(e.new)), 0o600); err != nil {
			return "", err
		}
		replaced[source] = copied
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, "overlay.json")
	return file, os.WriteFile(file, list, 0o600)
}
