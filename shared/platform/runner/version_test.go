package runner_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The Makefile, the Dockerfile and ko stamp the same variable, and a stamped program prints the stamp.
func TestBuildsStampTheVersion(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		// not the options of a make that runs the tests
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0", "MAKEFLAGS=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	const stamp = "0.9.1-test"
	flag := regexp.MustCompile(`-X \S+=` + stamp).FindString(run("make", "-n", "VERSION="+stamp, "bin/mneme"))
	if flag == "" {
		t.Fatal("the Makefile stamps no version")
	}
	variable, _, _ := strings.Cut(flag, "=")
	for _, file := range []string{"Dockerfile", ".ko.yaml"} {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), variable+"=") {
			t.Errorf("%s does not stamp with %s", file, variable)
		}
	}
	program := filepath.Join(t.TempDir(), "reranker")
	run("go", "build", "-trimpath", "-ldflags", flag, "-o", program, "./services/reranker/cmd/reranker")
	if got := run(program, "--version"); got != "reranker "+stamp+"\n" {
		t.Errorf("the program prints %q, want the version %s", got, stamp)
	}
	if got := strings.TrimSpace(run("make", "-s",
		"version")); !regexp.MustCompile(`^0\.\d+\.\d+[-+.0-9A-Za-z]*$`).MatchString(got) {
		t.Errorf("this checkout builds version %q, want 0.x", got)
	}
}
