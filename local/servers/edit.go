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

// edit replaces every occurrence of a text in a file of a server's dependency. It serves where the server has no
// setting.
type edit struct {
	file     string // path below the module's folder
	old, new string
}

// edited copies a module's dependency to a folder, edits the copy, and returns a file for `go build -modfile` that
// uses the copy. A missing text is an error, because another version of the dependency may need another edit.
func edited(ctx context.Context, tool, module, dependency, folder string, edits []edit) (string, error) {
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
	copied := filepath.Join(folder, "edited")
	if err := os.CopyFS(copied, os.DirFS(downloaded.Dir)); err != nil {
		return "", fmt.Errorf("copy %s: %w", dependency, err)
	}
	for _, e := range edits {
		file := filepath.Join(copied, filepath.FromSlash(e.file))
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if !bytes.Contains(content, []byte(e.old)) {
			return "", fmt.Errorf("%s of %s does not have %q: the edit has to follow the pinned version", e.file, dependency, e.old)
		}
		if err := os.WriteFile(file, bytes.ReplaceAll(content, []byte(e.old), []byte(e.new)), 0o600); err != nil {
			return "", err
		}
	}
	replace := fmt.Appendf(nil, "\nreplace %s => %q\n", dependency, copied)
	for name, more := range map[string][]byte{"go.mod": replace, "go.sum": nil} {
		content, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(folder, name), append(content, more...), 0o600); err != nil {
			return "", err
		}
	}
	return filepath.Join(folder, "go.mod"), nil
}
