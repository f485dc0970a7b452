// Command kustomize writes deploy/k8s from the Helm chart. The base holds the objects of the default values, and the
// overlays hold the differences of other values.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"

	"gopkg.in/yaml.v3"

	"github.com/mneme-memory/mneme/local/servers"
)

// overlays maps each overlay to its set of values in the chart.
var overlays = map[string]string{"small": "ci/small-values.yaml", "production": "values-production.yaml"}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: kustomize REPOSITORY FOLDER")
		os.Exit(2)
	}
	if err := write(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes base and overlays from a repository's chart to a folder.
func write(ctx context.Context, repository, folder string) error {
	helm, err := servers.Binary(ctx, os.Stderr, servers.NameHelm)
	if err != nil {
		return err
	}
	base, err := render(ctx, helm, repository)
	if err != nil {
		return err
	}
	if err := save(filepath.Join(folder, "base"), map[string][]object{
		"mneme.yaml":         base,
		"kustomization.yaml": {{"resources": []string{"mneme.yaml"}}},
	}); err != nil {
		return err
	}
	for name, values := range overlays {
		all, err := render(ctx, helm, repository, values)
		if err != nil {
			return err
		}
		gone, patches, more := difference(base, all)
		kustomization := object{"resources": []string{"../../base"}, "patches": append(gone, object{"path": "patches.yaml"})}
		files := map[string][]object{"patches.yaml": patches, "kustomization.yaml": {kustomization}}
		if len(more) > 0 {
			kustomization["resources"] = []string{"../../base", "more.yaml"}
			files["more.yaml"] = more
		}
		if err := save(filepath.Join(folder, "overlays", name), files); err != nil {
			return err
		}
	}
	return nil
}

// object is an object of Kubernetes or of kustomize.
type object = map[string]any

// render returns the objects that the chart renders with the values of deploy/k8s and further files of values.
func render(ctx context.Context, helm, repository string, values ...string) ([]object, error) {
	chart := filepath.Join(repository, "charts/mneme")
	args := []string{"template", "mneme", chart, "--namespace", "mneme", "--kube-version", "1.30.0",
		"--values", filepath.Join(repository, "deploy/k8s/values.yaml")}
	for _, v := range values {
		args = append(args, "--values", filepath.Join(chart, v))
	}
	cmd := exec.CommandContext(ctx, helm, args...)
	cmd.Env = append(os.Environ(), "HELM_NO_PLUGINS=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("render the chart: %w", err)
	}
	return parse(out)
}

// parse reads objects and replaces Helm in their managed-by labels.
func parse(content []byte) ([]object, error) {
	var found []object
	for dec := yaml.NewDecoder(bytes.NewReader(content)); ; {
		var o object
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("read objects: %w", err)
		}
		if o != nil {
			relabel(o)
			found = append(found, o)
		}
	}
}

// relabel replaces Helm by kustomize in all managed-by labels of part.
func relabel(part any) {
	switch p := part.(type) {
	case object:
		const label = "app.kubernetes.io/managed-by"
		if p[label] != nil {
			p[label] = "kustomize"
		}
		for _, inner := range p {
			relabel(inner)
		}
	case []any:
		for _, inner := range p {
			relabel(inner)
		}
	}
}

// difference returns the changes from the base's objects to the wanted ones. The entries in gone remove objects in
// the kustomization, because kustomize refuses removals in a file of several patches. The patches change objects. The
// objects in more are new.
func difference(base, want []object) (gone, patches, more []object) {
	have, wanted := byID(base), byID(want)
	for _, o := range base {
		if wanted[id(o)] == nil {
			target := object{"kind": o["kind"], "name": o["metadata"].(object)["name"]}
			gone = append(gone, object{"target": target,
				"patch": fmt.Sprintf("{$patch: delete, kind: %s, metadata: {name: any}}", o["kind"])})
		}
	}
	for _, o := range want {
		if b := have[id(o)]; b == nil {
			more = append(more, o)
		} else if p := patch(b, o); len(p) > 0 {
			patches = append(patches, patchOf(o, p))
		}
	}
	return gone, patches, more
}

func id(o object) string {
	return fmt.Sprint(o["apiVersion"], " ", o["kind"], " ", o["metadata"].(object)["name"])
}

func byID(list []object) map[string]object {
	out := map[string]object{}
	for _, o := range list {
		out[id(o)] = o
	}
	return out
}

// patchOf adds the fields by which a patch finds its object.
func patchOf(o, p object) object {
	metadata, _ := p["metadata"].(object)
	if metadata == nil {
		metadata = object{}
	}
	for _, key := range []string{"name", "namespace"} {
		metadata[key] = o["metadata"].(object)[key]
	}
	p["apiVersion"], p["kind"], p["metadata"] = o["apiVersion"], o["kind"], metadata
	return p
}

// keys are the identifying fields of list elements in lists that patches merge.
var keys = map[string]string{"containers": "name", "env": "name", "volumes": "name", "volumeMounts": "mountPath"}

// patch returns the strategic merge patch from one map to another. A null removes a value.
func patch(from, to object) object {
	out := object{}
	for key, value := range from {
		if _, ok := to[key]; !ok && value != nil {
			out[key] = nil
		}
	}
	for key, value := range to {
		before := from[key]
		if reflect.DeepEqual(before, value) {
			continue
		}
		out[key] = value
		switch v := value.(type) {
		case object:
			if b, ok := before.(object); ok {
				out[key] = patch(b, v)
			}
		case []any:
			if b, ok := before.([]any); ok && keys[key] != "" {
				out[key] = patchList(keys[key], b, v)
			} else if key == "topologySpreadConstraints" { // patches would merge it by two keys
				out[key] = append([]any{object{"$patch": "replace"}}, v...)
			}
		}
	}
	return out
}

func patchList(key string, from, to []any) []any {
	before, after := byKey(key, from), byKey(key, to)
	var out []any
	for _, e := range from {
		if name := e.(object)[key]; after[name] == nil {
			out = append(out, object{key: name, "$patch": "delete"})
		}
	}
	for _, e := range to {
		name := e.(object)[key]
		if p := patch(before[name], e.(object)); len(p) > 0 {
			p[key] = name
			out = append(out, p)
		}
	}
	return out
}

func byKey(key string, list []any) map[any]object {
	out := map[any]object{}
	for _, e := range list {
		out[e.(object)[key]] = e.(object)
	}
	return out
}

// save replaces the files of a folder.
func save(folder string, files map[string][]object) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, objects := range files {
		var out bytes.Buffer
		out.WriteString("# Written by `make generate` of charts/mneme.\n")
		enc := yaml.NewEncoder(&out)
		enc.SetIndent(2)
		for _, o := range objects {
			if err := enc.Encode(o); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(folder, name), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
