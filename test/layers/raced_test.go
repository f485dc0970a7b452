package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unraced maps folders to the reason why their tests run without the race detector, although they have goroutines or
// locks.
var unraced = map[string]string{
	"evaluation":              "its goroutines share a list of results behind one lock",
	"lab/cli":                 "it only wires",
	"lab/cmd":                 "it only wires",
	"lab/reinforcement":       "the detector makes training 5 to 13 times slower",
	"lab/practice":            "the detector makes training 5 to 13 times slower",
	"lab/rehearsal":           "its goroutines share a list of results behind one lock",
	"lab/training":            "the detector makes training 5 to 13 times slower",
	"lab/trainer":             "its locks guard whole episodes, and the detector makes them 5 to 13 times slower",
	"shared/formation":        "its locks guard models that are loaded once; test-raced-e2e runs formation with the detector",
	"local/servers":           "its goroutines wait for child processes; test-raced-e2e runs it with the detector",
	"test/servers":            "its goroutines wait for child processes, as those of local/servers",
	"deploy/embedded":         "it is linked into servers of others, which are built without the detector",
	"test/bench":              "it measures",
	"shared/model/wordvector": "its lock guards a model that is loaded once",
	"shared/text":             "its caches are atomic pointers, which raced services use",
}

// raced are folders without goroutines. Their tests run goroutines of other packages under the race detector.
var raced = []string{"services/gateway/rest"}

// TestPackagesWithGoroutinesAreRaced compares raced.txt with the code. raced.txt lists the packages that `make test`
// runs with the race detector. A package with goroutines or locks must be in it or in unraced.
func TestPackagesWithGoroutinesAreRaced(t *testing.T) {
	data, err := os.ReadFile("raced.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Fields(string(data))
	if !slices.IsSorted(listed) {
		t.Error("raced.txt is not in order")
	}
	var want []string
	for name := range list(t) {
		code, tests := goFiles(t, name)
		concurrent := slices.ContainsFunc(code, func(file string) bool { return isConcurrent(t, file) })
		if len(tests) > 0 && (concurrent && !isUnraced(name) || slices.Contains(raced, name)) {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	for _, name := range want {
		if !slices.Contains(listed, name) {
			t.Errorf("%s has goroutines or locks: name it in raced.txt, or in unraced with the reason", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(want, name) {
			t.Errorf("raced.txt names %s, which has no tests, or neither goroutines nor locks", name)
		}
	}
}

// TestRacedTestsOfTheSystemExist compares the names of RACED_E2E with the tests of the whole system.
func TestRacedTestsOfTheSystemExist(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(makefile), "RACED_E2E := ")
	names, _, _ := strings.Cut(rest, "\n")
	_, tests := goFiles(t, "test/e2e")
	code := ""
	for _, file := range tests {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code += string(data)
	}
	for name := range strings.SplitSeq(names, "|") {
		if !regexp.MustCompile(`(?m)^func Test\w*` + name + `\w*\(`).MatchString(code) {
			t.Errorf("RACED_E2E names %q, and no test of test/e2e has it", name)
		}
	}
}

func isUnraced(name string) bool {
	for folder := range unraced {
		if among(name, []string{folder}) {
			return true
		}
	}
	return false
}

// goFiles returns the files of a package and the files of its tests.
func goFiles(t *testing.T, name string) (code, tests []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", name, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			tests = append(tests, f)
		} else {
			code = append(code, f)
		}
	}
	return code, tests
}

// locks are the types of sync that code uses when goroutines share data.
var locks = []string{"Mutex", "RWMutex", "WaitGroup", "Cond", "Map", "Pool"}

// isConcurrent reports whether a file starts goroutines or uses locks.
func isConcurrent(t *testing.T, path string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, imported := range file.Imports {
		if p := strings.Trim(imported.Path.Value, `"`); p == "golang.org/x/sync/errgroup" || p == "sync/atomic" {
			return true
		}
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			of, ok := n.X.(*ast.Ident)
			found = found || ok && of.Name == "sync" && slices.Contains(locks, n.Sel.Name)
		}
		return !found
	})
	return found
}
