package layers_test

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

// goPackage holds the fields that the test reads from `go list -json`.
type goPackage struct {
	ImportPath string
	// Imports are the direct imports and Deps are all imports, both without tests.
	Imports, Deps []string
}

// list runs the go command once for all checks and returns the packages of the module.
func list(t *testing.T) map[string]goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...", "./lab/...")
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

// order names every folder of the module, imported folders first. A package may import its own folder and earlier
// ones. A folder stands for all subfolders that order does not name.
var order = []string{
	"proto",
	// the client for other programs
	"client",
	// the domain
	"shared/fault", "shared/memory", "shared/tenant", "shared/contract", "shared/changeevent",
	// language and its models
	"shared/text", "shared/platform/config", "shared/model/llm", "shared/model/wordvector", "shared/model/classifier",
	"shared/query", "shared/model/bytematrix", "shared/model/floatmatrix", "shared/model/onnx",
	"shared/model/wordpiece", "shared/model/embedding",
	// identity of callers
	"shared/access", "shared/tenant/rpcauth",
	// ports of the stores and the bus, with their adapters
	"shared/store/bank", "shared/store/window", "shared/store/weights", "shared/store/directory",
	"shared/bus",
	// policies, learning, attribution
	"shared/decision", "shared/formation", "shared/ranking", "shared/recall", "shared/diagnosis",
	// imports of memories, checked by formation's rules
	"shared/store/transfer",
	// parts of every process
	"shared/platform/telemetry", "shared/platform/rpcerror", "shared/platform/runner",
	// stores in Redis only
	"shared/store/redisstore", "shared/store/usage", "shared/store/decisions", "shared/store/records",
	"shared/store/idempotency",
	"shared/store/items", "shared/store/webhooks", "shared/store/quota", "shared/store/mem0state",
	// conformance suites and test doubles that only tests import
	"shared/model/llm/llmtest", "shared/model/onnx/onnxtest", "shared/bus/bustest", "shared/store/bank/banktest",
	"shared/store/window/windowtest", "shared/store/weights/weightstest", "shared/store/directory/directorytest",
	"shared/formation/formationtest",
	"workflows/consolidation", "workflows/erasure",
	"services/wiring", "services/saliencyfilter", "services/booster", "services/reranker", "services/utilizer",
	"services/gateway",
	"evaluation/dataset", "evaluation/score", "evaluation/formation", "evaluation/baseline", "evaluation/recall",
	"evaluation/modelcheck",
	"local/process", "local/servers", "local/traceview", "local/standalone", "local/kustomize", "local/command",
	"local/cli/sample", "local/cli/console", "local/cli/conversations", "local/cli/memories", "local/cli/recall",
	"local/cli/erasure",
	"local/cli/laptop", "local/cli/tenants", "local/cli/operations", "local/cli/evaluate", "local/cli/mcp", "local/cli",
	"local/configdoc",
	"cmd",
	// programs that show the client
	"examples",
	"test",
	// a separate module, which the product never imports
	"lab",
}

// production folders run with customers' data. They import no later folder of the order.
var production = []string{"proto", "shared", "workflows", "services"}

// laptop folders are those that production never imports.
var laptop = []string{"local", "evaluation", "test", "cmd", "lab"}

// domain lists the packages of shared that services build on. Adapters choose the systems behind them.
var domain = []string{
	"memory", "fault", "contract", "query", "formation", "recall", "ranking", "diagnosis", "store/window", "store/bank",
	"store/weights",
	"store/directory", "bus", "model/embedding",
}

// drivers are the clients of the systems behind the ports.
var drivers = []string{
	"github.com/segmentio/kafka-go", "github.com/redis/go-redis", "go.temporal.io", "github.com/weaviate",
}

// standIns are servers for a laptop and for tests.
var standIns = []string{"github.com/twmb/franz-go/pkg/kfake", "github.com/alicebob/miniredis", module + "local",
	module + "test"}

var binaries = []string{
	"services/saliencyfilter/cmd/saliency-filter", "services/booster/cmd/booster",
	"services/reranker/cmd/reranker", "services/utilizer/cmd/utilizer", "services/gateway/cmd/gateway",
}

func TestImportsPointOneWay(t *testing.T) {
	packages := list(t)
	used := make([]bool, len(order))
	for name, p := range packages {
		own := place(name)
		if own < 0 {
			t.Errorf("%s has no place in the order", name)
			continue
		}
		used[own] = true
		for _, imported := range p.Imports {
			ours, ok := strings.CutPrefix(imported, module)
			if !ok {
				continue
			}
			if place(ours) > own {
				t.Errorf("%s imports %s, which stands after it in the order", name, ours)
			}
			if among(name, production) && among(ours, laptop) {
				t.Errorf("%s imports %s: production never imports what is for a laptop, evaluation or tests", name, ours)
			}
		}
	}
	for i, folder := range order {
		if !used[i] {
			t.Errorf("the order names %s, which holds no package", folder)
		}
	}
	t.Run("the domain knows no driver", func(t *testing.T) { driverFree(t, packages) })
	t.Run("binaries hold no stand-in", func(t *testing.T) { standInFree(t, packages) })
}

// place returns the place of a package's folder in the order, or -1 for an unlisted folder. The longest name wins.
func place(name string) int {
	best := -1
	for i, folder := range order {
		if among(name, []string{folder}) && (best < 0 || len(folder) > len(order[best])) {
			best = i
		}
	}
	return best
}

// driverFree checks all dependencies of a domain package. An indirect dependency on a driver counts as much as a
// direct one.
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

// among reports whether a package equals one of paths or lies below one.
func among(name string, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return name == path || strings.HasPrefix(name, path+"/") })
}
