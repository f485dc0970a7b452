package problem_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// constants returns the values of a file's constants with a name prefix.
func constants(t *testing.T, path, prefix string) (out []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, prefix) {
			value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value) //nolint:forcetypeassert // a test
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, value)
		}
		return true
	})
	return out
}

func TestEveryCodeIsListed(t *testing.T) {
	listed := problem.Codes()
	made := append(constants(t, "problem.go", "Code"),
		constants(t, "../../../shared/platform/rpcerror/reason.go", "Reason")...)
	slices.Sort(listed)
	slices.Sort(made)
	if !slices.Equal(listed, made) || len(slices.Compact(made)) != len(listed) {
		t.Errorf("listed are %v,\nthere are %v", listed, made)
	}
	docs, err := os.ReadFile("../../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range listed {
		if !strings.Contains(string(docs), "\n| `"+code+"` |") {
			t.Errorf("docs/gateway.md does not list %s", code)
		}
	}
	err = filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if strings.Contains(string(source), `Code: "`) {
			t.Errorf("%s: a code that is no constant", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
