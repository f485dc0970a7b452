package layering_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mneme-memory/mneme/"

// goPackage is what is read of `go list -json`.
type goPackage struct {
	ImportPath string
	// Imports are direct and of the code alone, Deps all and of the code alone.
	Imports, Deps []string
}

// list asks the go command for the packages of the module, once for all checks.
func list(t *testing.T) map[string]goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = "../.."
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &complaints)
	}
	found := map[string]goPackage{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		found[strings.TrimPrefix(p.ImportPath, module)] = p
	}
}

// layers are the parts of the module; each may import itself and what comes before it.
var layers = []string{"proto", "shared", "workflows", "services"}

// domain are the packages of shared that services are written against: what runs behind them is left to adapters.
var domain = []string{"memory", "formation", "recall", "window", "bank", "embedding", "bus", "fault", "dataset", "contract"}

// drivers are the clients of the systems behind the ports.
var drivers = []string{
	"github.com/segmentio/kafka-go", "github.com/redis/go-redis", "go.temporal.io", "github.com/weaviate", "github.com/openai/openai-go",
}

// standIns are servers for a laptop and for tests.
var standIns = []string{"github.com/twmb/franz-go/pkg/kfake", "github.com/alicebob/miniredis", module + "shared/localserver"}

var binaries = []string{
	"services/saliencyfilter/cmd/saliency-filter", "services/booster/cmd/booster",
	"services/reranker/cmd/reranker", "services/utilizer/cmd/utilizer",
}

func TestImportsPointOneWay(t *testing.T) {
	packages := list(t)
	checked := map[string]int{}
	for name, p := range packages {
		layer, _, _ := strings.Cut(name, "/")
		level := slices.Index(layers, layer)
		if level < 0 {
			t.Errorf("%s is in none of %v", name, layers)
			continue
		}
		checked[layer]++
		for _, imported := range p.Imports {
			ours, ok := strings.CutPrefix(imported, module)
			if !ok {
				continue
			}
			into, _, _ := strings.Cut(ours, "/")
			if slices.Index(layers, into) > level {
				t.Errorf("%s imports %s: %s must not know %s", name, ours, layer, into)
			}
			if layer == "proto" && into != "proto" {
				t.Errorf("%s imports %s: contracts import nothing of ours", name, ours)
			}
		}
	}
	for _, layer := range layers {
		if checked[layer] == 0 {
			t.Errorf("no package of %s was found", layer)
		}
	}
	t.Run("the domain knows no driver", func(t *testing.T) { driverFree(t, packages) })
	t.Run("binaries hold no stand-in", func(t *testing.T) { standInFree(t, packages) })
}

// driverFree looks at all that a domain package is built of: a driver behind another package of ours binds just the same.
func driverFree(t *testing.T, packages map[string]goPackage) {
	for _, name := range domain {
		p, ok := packages["shared/"+name]
		if !ok {
			t.Errorf("there is no shared/%s", name)
		}
		for _, dep := range p.Deps {
			if among(dep, drivers) {
				t.Errorf("shared/%s depends on %s: only its adapters may", name, dep)
			}
		}
	}
}

func standInFree(t *testing.T, packages map[string]goPackage) {
	for _, name := range binaries {
		p, ok := packages[name]
		if !ok {
			t.Errorf("there is no %s", name)
		}
		for _, dep := range p.Deps {
			if among(dep, standIns) {
				t.Errorf("%s depends on %s, which is for laptops and tests", name, dep)
			}
		}
	}
}

// among reports whether a package is, or lies below, one of paths.
func among(name string, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return name == path || strings.HasPrefix(name, path+"/") })
}
