package servers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/mneme-memory/mneme/local/process"
)

// Names of the servers that [Build] and [Binary] know.
const (
	NameWeaviate = "weaviate"
	NameTemporal = "temporal"
	// TemporalServer and TemporalSQLTool are the programs of a Temporal cluster, with one service per process.
	NameTemporalServer  = "temporal-server"
	NameTemporalSQLTool = "temporal-sql-tool"
	// Helm is no server. Tests render the chart with it, in both major versions.
	NameHelm  = "helm"
	NameHelm3 = "helm3"
	// Promtool tests alerts. PromQL parses queries.
	NamePromtool = "promtool"
	NamePromQL   = "promql"
	// NameControlPlane is Kubernetes without a container engine. The chart's tests install on it.
	NameControlPlane = "controlplane"
)

// CacheEnv overrides the directory for built servers and downloads; by default it is .cache at the repository root.
const CacheEnv = "MNEME_CACHE_DIR"

// lockRetry is the pause between two checks for the end of another process's build.
const lockRetry = 200 * time.Millisecond

// builder returns the package and the module below deploy/embedded of a server, with the changes of its dependencies.
func builder(name string) (b build, err error) {
	switch name {
	case NameWeaviate:
		return build{module: name, pkg: "github.com/weaviate/weaviate/cmd/weaviate-server", changes: weaviateChanges(),
			work: work(260 * time.Second)}, nil
	case NameTemporal:
		return build{module: name, pkg: ".", changes: temporalChanges(),
			work: work(350 * time.Second)}, nil
	case NameTemporalServer:
		return build{module: "temporal", pkg: "go.temporal.io/server/cmd/server", changes: temporalChanges()}, nil
	case NameTemporalSQLTool:
		return build{module: "temporal", pkg: "go.temporal.io/server/cmd/tools/sql", changes: temporalChanges()}, nil
	case NameHelm:
		return build{module: "kubernetes", pkg: "helm.sh/helm/v4/cmd/helm"}, nil
	case NameHelm3:
		return build{module: "kubernetes", pkg: "helm.sh/helm/v3/cmd/helm"}, nil
	case NamePromtool:
		return build{module: "prometheus", pkg: "github.com/prometheus/prometheus/cmd/promtool"}, nil
	case NamePromQL:
		return build{module: "prometheus", pkg: "."}, nil
	case NameControlPlane:
		return build{module: name, pkg: ".", ldflags: "-X k8s.io/component-base/version.gitVersion=" + kubernetesVersion}, nil
	}
	return b, fmt.Errorf("unknown server %q", name)
}

// kubernetesVersion is the version that the API server reports. Its sources do not contain the version.
const kubernetesVersion = "v1.36.3"

// Build makes sure that the named servers are built; see [Binary].
func Build(ctx context.Context, progress io.Writer, names ...string) error {
	for _, name := range names {
		if _, err := Binary(ctx, progress, name); err != nil {
			return err
		}
	}
	return nil
}

// Built reports whether the cache has a server in its present version.
func Built(name string) (bool, error) {
	b, err := planned(name)
	return err == nil && exists(b.out), err
}

// Binary returns the path of a built server. If the cache has no build of the module's present content, it builds the
// server first. Of several concurrent processes, one builds and the others wait. The first build takes minutes, so
// progress receives a line every few seconds; nil discards the lines. The build needs the repository's sources and
// the go command. Its errors quote the compiler.
func Binary(ctx context.Context, progress io.Writer, name string) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	b, err := planned(name)
	if err == nil {
		err = onceOnDisk(ctx, b.out, func() error { return goBuild(ctx, progress, b) })
	}
	if err != nil {
		return "", fmt.Errorf("build %s server: %w", name, err)
	}
	return b.out, nil
}

// programOf returns the program that the options name, or the built one.
func programOf(ctx context.Context, o process.Options, name string) (string, error) {
	if o.Binary != "" {
		return o.Binary, nil
	}
	return Binary(ctx, o.Log, name)
}

// planned returns the build of a server, with the path in the cache for the module's present content.
func planned(name string) (b build, err error) {
	if b, err = builder(name); err != nil {
		return b, err
	}
	root, err := repositoryRoot()
	if err != nil {
		return b, err
	}
	b.name, b.module = name, filepath.Join(root, "deploy", "embedded", b.module)
	sum, err := moduleHash(b.module, b.changes)
	b.out = filepath.Join(cacheDir(root), "servers", name+"-"+sum)
	return b, err
}

// Cached returns the path of a file or folder below the cache directory. If it is missing, produce creates it at the
// path. Of several concurrent processes, one produces it and the others wait. Outside the repository it returns an
// error.
func Cached(ctx context.Context, name string, produce func(path string) error) (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cacheDir(root), name)
	return path, onceOnDisk(ctx, path, func() error { return produce(path) })
}

// onceOnDisk calls produce unless path exists. Two calls never run at the same time on one machine.
func onceOnDisk(ctx context.Context, path string, produce func() error) error {
	if exists(path) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	lock := flock.New(path + ".lock")
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return fmt.Errorf("wait for a build that runs elsewhere: %w", err)
	}
	defer lock.Unlock()
	if exists(path) {
		return nil
	}
	return produce()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// repositoryRoot returns the nearest directory with the repository's go.work, at or above the working directory. If
// there is none, it searches above the running program, which is in the repository's bin.
func repositoryRoot() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	starts := []string{wd}
	if self, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(self))
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			if exists(filepath.Join(dir, "go.work")) && exists(filepath.Join(dir, "deploy", "embedded")) {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errors.New("not inside the repository (no go.work with deploy/embedded at or above the working " +
		"directory or the program); run from there or name a binary")
}

func cacheDir(root string) string {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return dir
	}
	return filepath.Join(root, ".cache")
}

// moduleHash identifies the result of a module's build by its sources, pinned dependencies, changes, and the platform.
func moduleHash(module string, changes []change) (string, error) {
	files, err := filepath.Glob(filepath.Join(module, "*"))
	if err != nil {
		return "", err
	}
	files = slices.DeleteFunc(files, func(f string) bool {
		base := filepath.Base(f)
		return base != "go.mod" && base != "go.sum" && filepath.Ext(base) != ".go"
	})
	if len(files) == 0 {
		return "", fmt.Errorf("no module in %s", module)
	}
	slices.Sort(files)
	hash := sha256.New()
	fmt.Fprintf(hash, "%s/%s\n", runtime.GOOS, runtime.GOARCH)
	for _, c := range changes {
		fmt.Fprintf(hash, "%q\n", c)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n", filepath.Base(file), len(content))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil)[:6]), nil
}
