package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// change is a change of a server's dependency before the build. It leaves out code that local runs and tests never
// use, because that code takes minutes to compile. It also replaces code where the server has no setting.
type change struct {
	module  string   // the dependency
	without []string // patterns of the files that the build leaves out, below the dependency's folder
	edits   []edit
}

// edit replaces every match of a pattern in a file.
type edit struct {
	file string // path below the dependency's folder
	old  string // regular expression
	new  string // literal text
}

// changed copies the dependencies to a folder, changes the copies, and returns a file for `go build -modfile` that
// uses the copies. A pattern without a match is an error, because another version may need another change.
func changed(ctx context.Context, tool, module, folder string, changes []change) (string, error) {
	var replace strings.Builder
	for i, c := range changes {
		copied := filepath.Join(folder, fmt.Sprint("changed", i))
		if err := copyModule(ctx, tool, module, c.module, copied); err != nil {
			return "", err
		}
		if err := c.apply(copied); err != nil {
			return "", err
		}
		fmt.Fprintf(&replace, "\nreplace %s => %q\n", c.module, copied)
	}
	for name, more := range map[string]string{"go.mod": replace.String(), "go.sum": ""} {
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

// copyModule copies a dependency of a module to a new folder.
func copyModule(ctx context.Context, tool, module, dependency, to string) error {
	cmd := exec.CommandContext(ctx, tool, "mod", "download", "-json", dependency)
	cmd.Dir, cmd.Env = module, append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go mod download %s: %w", dependency, err)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return fmt.Errorf("go mod download %s: %w", dependency, err)
	}
	if err := os.CopyFS(to, os.DirFS(downloaded.Dir)); err != nil {
		return fmt.Errorf("copy %s: %w", dependency, err)
	}
	return nil
}

// apply changes the copy of the dependency in a folder.
func (c change) apply(folder string) error {
	for _, pattern := range c.without {
		files, err := filepath.Glob(filepath.Join(folder, filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("%s does not have %s: the change has to follow the pinned version", c.module, pattern)
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	for _, e := range c.edits {
		file := filepath.Join(folder, filepath.FromSlash(path.Clean(e.file)))
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		old := regexp.MustCompile(e.old)
		if !old.Match(content) {
			return fmt.Errorf("%s of %s does not have %q: the edit has to follow the pinned version", e.file, c.module, e.old)
		}
		if err := os.WriteFile(file, old.ReplaceAllLiteral(content, []byte(e.new)), 0o600); err != nil {
			return err
		}
	}
	return nil
}
