//go:build chart && k8s

package chart_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/test/harness"
	testservers "github.com/mneme-memory/mneme/test/servers"
)

// nodes are three nodes in three zones, with the labels that ci/everything requires. The text also holds the other
// objects of a cluster before the chart. These are the priority classes in the values, and a role for namespace
// administrators over the kinds of KEDA and similar systems.
const nodes = `
apiVersion: v1
kind: Node
metadata: {name: a, labels: {topology.kubernetes.io/zone: a, kubernetes.io/hostname: a, pool: memory}}
status:
  capacity: {cpu: 1k, memory: 1Ti, ephemeral-storage: 1Ti, pods: 1k}
  allocatable: {cpu: 1k, memory: 1Ti, ephemeral-storage: 1Ti, pods: 1k}
---
apiVersion: v1
kind: Node
metadata: {name: b, labels: {topology.kubernetes.io/zone: b, kubernetes.io/hostname: b, pool: memory}}
status:
  capacity: {cpu: 1k, memory: 1Ti, ephemeral-storage: 1Ti, pods: 1k}
  allocatable: {cpu: 1k, memory: 1Ti, ephemeral-storage: 1Ti, pods: 1k}
---
apiVersion: v1
kind: Node
metadata: {name: c, labels: {topology.kubernetes.io/zone: c, kubernetes.io/hostname: c, pool: memory}}
status:
  capacity: {cpu: 1k, memory: 1Ti, ephemeral-storage: 1Ti, pods: 1k}
  allocatable: {cpu: 1k, memory: 1Ti, ephemeral-storage: 1Ti, pods: 1k}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: mneme}, value: 1000}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: memory}, value: 1000}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: more, labels: {rbac.authorization.k8s.io/aggregate-to-admin: "true"}}
rules: [{apiGroups: [keda.sh, monitoring.coreos.com, gateway.networking.k8s.io], resources: ["*"], verbs: ["*"]}]
`

// namespace admits only restricted pods. Its administrator has no rights elsewhere.
const namespace = `
{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s, labels: {pod-security.kubernetes.io/enforce: restricted}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: installer, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: installer}]
`

// cluster is a real control plane with simulated nodes, which report pods as running.
type cluster struct{ binary, config, home string }

func startCluster(t *testing.T) cluster {
	t.Helper()
	folder := t.TempDir()
	k, err := testservers.StartKubernetes(t.Context(), process.Options{Dir: folder + "/kubernetes", Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(k.Err(), k.Stop(context.Background())); err != nil {
			t.Error(err)
		}
	})
	c := cluster{config: k.Kubeconfig(), home: folder}
	if c.binary, err = servers.Binary(t.Context(), os.Stderr, servers.NameControlPlane); err != nil {
		t.Fatal(err)
	}
	c.kubectl(t, "create", "-f", defined(t))
	c.apply(t, nodes)
	c.kubectl(t, "wait", "--for=condition=Ready", "nodes", "--all", "--timeout=60s")
	return c
}

// command returns a program with access to the cluster.
func (c cluster) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.config, "HOME="+c.home, "HELM_NO_PLUGINS=1")
	return cmd
}

// kubectl runs kubectl, which must succeed, and returns its output.
func (c cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return c.must(t, c.command(t.Context(), c.binary, append([]string{"kubectl"}, args...)...))
}

func (c cluster) apply(t *testing.T, content string) {
	t.Helper()
	cmd := c.command(t.Context(), c.binary, "kubectl", "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(content)
	c.must(t, cmd)
}

func (c cluster) must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args[1:], " "), err, out.String(), complaints.String())
	}
	return out.String()
}

// get returns the objects of comma-separated kinds in a namespace.
func (c cluster) get(t *testing.T, namespace, kinds string) objects {
	t.Helper()
	var list struct{ Items objects }
	if err := json.Unmarshal([]byte(c.kubectl(t, "get", kinds, "--namespace", namespace, "--output=json")),
		&list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// release is the chart in a separate namespace.
type release struct {
	cluster
	namespace, program string
	// values are the values of the installation; then are the values of the upgrade.
	values, then []string
}

// helm runs Helm as the administrator of the namespace.
func (r release) helm(t *testing.T, args ...string) string {
	t.Helper()
	return r.must(t, r.command(t.Context(), r.program,
		append(args, "--namespace", r.namespace, "--kube-as-user=installer")...))
}

// set installs or upgrades, and waits until every object is ready.
func (r release) set(t *testing.T, values []string, args ...string) {
	t.Helper()
	args = append([]string{"upgrade", "--install", "mneme", chart, "--wait", "--timeout=5m"}, args...)
	for _, v := range values {
		args = append(args, "--values", v)
	}
	r.helm(t, args...)
	r.awaitSteady(t)
}

// explain logs the objects of a namespace if the test has failed.
func (r release) explain(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, args := range [][]string{
			{"get", "events", "--sort-by=.lastTimestamp"}, {"get", "pods,replicasets,deployments,hpa,pdb,jobs", "--output=wide"},
			{"describe", "pods", "--selector=app.kubernetes.io/name=mneme", "--show-events=false"},
		} {
			out, err := r.command(context.Background(), r.binary,
				append([]string{"kubectl", "-n", r.namespace}, args...)...).CombinedOutput()
			t.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	})
}

// awaitSteady waits until every Deployment has exactly the wanted pods, ready and from its newest template.
func (r release) awaitSteady(t *testing.T) {
	t.Helper()
	var missing string
	began := time.Now().Truncate(time.Second) // with the precision of events
	defer func() {
		if missing != "" {
			t.Log(missing)
		}
	}()
	harness.Await(t, r.namespace+" is steady", func(context.Context) (bool, error) {
		missing = unsteady(r.get(t, r.namespace, "deployments,hpa,pods,events"), began)
		return missing == "", nil
	})
}

// unsteady describes the first difference from the wanted state. It ignores refused requests from before began,
// because Kubernetes has retried them.
func unsteady(all objects, began time.Time) string {
	least := map[string]float64{}
	for _, o := range all {
		if o.kind() == "HorizontalPodAutoscaler" {
			least[at[string](o, "spec", "scaleTargetRef", "name")] = at[float64](o, "spec", "minReplicas")
		}
	}
	deployments, pods, wanted := 0, 0.0, 0.0
	for _, o := range all {
		switch o.kind() {
		case "Event":
			last, _ := time.Parse(time.RFC3339, at[string](o, "lastTimestamp"))
			if at[string](o, "reason") == "FailedCreate" && !last.Before(began) {
				return fmt.Sprintf("refused: %s", at[string](o, "message"))
			}
		case "Pod":
			pods++
		case "Deployment":
			want, status := at[float64](o, "spec", "replicas"), at[map[string]any](o, "status")
			deployments, wanted = deployments+1, wanted+want
			if want < least[o.name()] || status["observedGeneration"] != at[any](o, "metadata", "generation") ||
				status["replicas"] != want || status["updatedReplicas"] != want || status["readyReplicas"] != want {
				return fmt.Sprintf("%s wants %v pods, %v at least, and is at %v", o.name(), want, least[o.name()], status)
			}
		}
	}
	if deployments != 9 || pods != wanted {
		return fmt.Sprintf("%d deployments, and %v pods where %v are wanted", deployments, pods, wanted)
	}
	return ""
}

// templates returns the pod templates of all Deployments and the number of changes of each.
func (r release) templates(t *testing.T) (templates, revisions map[string]any) {
	t.Helper()
	templates, revisions = map[string]any{}, map[string]any{}
	for _, o := range r.get(t, r.namespace, "deployments") {
		templates[o.name()] = at[any](o, "spec", "template")
		revisions[o.name()] = at[map[string]any](o, "metadata", "annotations")["deployment.kubernetes.io/revision"]
	}
	return templates, revisions
}

// TestKubernetes installs each shipped set of values in a separate namespace and drains a node under all of them.
// Then it changes, scales, upgrades, rolls back and uninstalls each release.
func TestKubernetes(t *testing.T) {
	c, sets := startCluster(t), shipped(t)
	var names []string
	for name := range sets {
		names = append(names, name)
	}
	slices.Sort(names)
	var releases []release
	for i, name := range names {
		releases = append(releases, release{c, "mneme-" + name, program, sets[name], sets[names[(i+1)%len(names)]]})
	}
	releases = append(releases, release{c, "mneme-helm3", earlier, sets["small"], sets["tenants"]})
	side := func(step string, do func(*testing.T, release)) bool {
		return t.Run(step, func(t *testing.T) {
			for _, r := range releases {
				t.Run(r.namespace, func(t *testing.T) {
					t.Parallel()
					r.explain(t)
					do(t, r)
				})
			}
		})
	}
	_ = side("install", install) && t.Run("drain", func(t *testing.T) { drain(t, releases) }) &&
		side("change", change) && side("scale", scale) && side("upgrade", upgrade) && side("uninstall", uninstall)
}

func install(t *testing.T, r release) {
	r.apply(t, fmt.Sprintf(namespace, r.namespace))
	harness.Await(t, "the installer has his rights", func(ctx context.Context) (bool, error) {
		may := []string{"kubectl", "auth", "can-i", "list", "--as=installer", "--namespace", r.namespace}
		return r.command(ctx, r.binary, append(may, "secrets")...).Run() == nil &&
			r.command(ctx, r.binary, append(may, "scaledobjects.keda.sh")...).Run() == nil, nil
	})
	r.set(t, r.values)
	manifest := r.command(t.Context(), r.binary, "kubectl", "get", "--namespace", r.namespace, "--filename=-")
	manifest.Stdin = strings.NewReader(r.helm(t, "get", "manifest", "mneme"))
	r.must(t, manifest)
	loose := r.command(t.Context(), r.binary, "kubectl", "run", "loose", "--image=loose", "--dry-run=server",
		"--namespace", r.namespace)
	if out, err := loose.CombinedOutput(); err == nil || !strings.Contains(string(out), "violates PodSecurity") {
		t.Errorf("a pod that is not restricted: %v\n%s", err, out)
	}
	if strings.Contains(r.helm(t, "get", "hooks", "mneme"), "helm.sh/hook: test") {
		r.helm(t, "test", "mneme", "--timeout=2m")
		r.kubectl(t, "delete", "pod/mneme-test", "--namespace", r.namespace) // Helm keeps the pod for its log
	}
}

// drain empties the node with the most pods of one component and watches the budgets meanwhile. All nodes are
// cordoned until a budget has refused an eviction. Otherwise the first pod's replacement might be ready before the
// second eviction.
func drain(t *testing.T, releases []release) {
	c := releases[0].cluster
	for _, r := range releases {
		r.explain(t)
	}
	node := fullest(t, releases)
	unwatch := watchBudgets(t, c, 9*len(releases))
	nodes := strings.Fields(c.kubectl(t, "get", "nodes", "--output=jsonpath={.items[*].metadata.name}"))
	c.kubectl(t, append([]string{"cordon"}, nodes...)...)
	log := filepath.Join(t.TempDir(), "drain.txt")
	said, err := os.Create(log) //nolint:gosec // the test's
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	evict := c.command(t.Context(), c.binary, "kubectl", "drain", node, "--delete-emptydir-data", "--timeout=3m")
	evict.Stdout, evict.Stderr = said, said
	if err := evict.Start(); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, "a budget refuses an eviction", func(context.Context) (bool, error) {
		out, err := os.ReadFile(log) //nolint:gosec // the test's
		return strings.Contains(string(out), "would violate the pod's disruption budget"), err
	})
	c.kubectl(t, append([]string{"uncordon"}, slices.DeleteFunc(nodes, func(n string) bool { return n == node })...)...)
	if err := evict.Wait(); err != nil {
		out, _ := os.ReadFile(log) //nolint:gosec // the test's
		t.Errorf("drain: %v\n%s", err, out)
	}
	for _, r := range releases {
		r.awaitSteady(t)
	}
	c.kubectl(t, "uncordon", node)
	unwatch()
}

// fullest returns the node with the most pods of one component, at least two. Fewer pods would not need a budget.
func fullest(t *testing.T, releases []release) string {
	t.Helper()
	together, node, most := map[string]int{}, "", 0
	for _, r := range releases {
		for _, o := range r.get(t, r.namespace, "pods") {
			on := at[string](o, "spec", "nodeName")
			key := r.namespace + o.component() + on
			if together[key]++; together[key] > most {
				node, most = on, together[key]
			}
		}
	}
	if most < 2 {
		t.Fatal("no node has two pods of a component: budgets would not be asked")
	}
	return node
}

// watchBudgets checks every state of the given number of budgets until its returned function is called.
func watchBudgets(t *testing.T, c cluster, budgets int) func() {
	t.Helper()
	watch := c.command(t.Context(), c.binary, "kubectl", "get", "pdb", "--all-namespaces", "--watch", "--output=json")
	seen, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	states := json.NewDecoder(seen)
	next := func() error {
		var o object
		err := states.Decode(&o)
		if healthy, least := at[float64](o, "status", "currentHealthy"),
			at[float64](o, "status", "desiredHealthy"); healthy < least {
			t.Errorf("%s has %v healthy pods, want %v", o.name(), healthy, least)
		}
		return err
	}
	for range budgets {
		if err := next(); err != nil {
			t.Fatal(err)
		}
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for next() == nil {
		}
	}()
	return func() {
		if err := watch.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-watched
		_ = watch.Wait()
	}
}

// change changes a setting of one component.
func change(t *testing.T, r release) {
	_, before := r.templates(t)
	r.set(t, r.values, "--set-string", "extraEnv.MNEME_FILTER_KEEP=24h")
	_, after := r.templates(t)
	for name := range before {
		if rolled := before[name] != after[name]; rolled != (name == "mneme-saliency-filter") {
			t.Errorf("%s has new pods: %v", name, rolled)
		}
	}
}

func scale(t *testing.T, r release) {
	for _, o := range r.get(t, r.namespace, "hpa") {
		if at[string](o, "spec", "scaleTargetRef", "name") == "mneme-gateway" {
			return // the autoscaler would reverse the change
		}
	}
	had := at[float64](r.get(t, r.namespace, "deployments").of("Deployment")["gateway"], "spec", "replicas")
	for _, replicas := range []float64{3, had} {
		r.kubectl(t, "scale", "deployment/mneme-gateway", fmt.Sprintf("--replicas=%v", replicas), "--namespace", r.namespace)
		r.awaitSteady(t)
	}
}

// upgrade installs the next set of values and then rolls back. In Helm 4, the last writer of a replica number owns
// it, a person or an autoscaler. Helm 4 takes the number back only with the flag for conflicts.
func upgrade(t *testing.T, r release) {
	var take []string
	if !strings.Contains(filepath.Base(r.program), "helm3") {
		take = []string{"--force-conflicts"}
	}
	before, _ := r.templates(t)
	r.set(t, r.then, take...)
	r.helm(t, append([]string{"rollback", "mneme", "--wait", "--timeout=5m"}, take...)...)
	r.awaitSteady(t)
	if now, _ := r.templates(t); !reflect.DeepEqual(now, before) {
		t.Errorf("after the rollback the pods are of\n%s\nwant\n%s", text(t, now), text(t, before))
	}
}

// uninstall removes everything except Kubernetes' own objects and the secret that the chart keeps on purpose.
func uninstall(t *testing.T, r release) {
	want := []string{"ConfigMap kube-root-ca.crt", "RoleBinding installer", "ServiceAccount default"}
	if slices.ContainsFunc(r.get(t, r.namespace, "secrets"), func(o object) bool { return o.name() == "mneme-internal" }) {
		want = append(want, "Secret mneme-internal")
	}
	slices.Sort(want)
	r.helm(t, "uninstall", "mneme", "--wait", "--timeout=2m")
	kinds := strings.Join(strings.Fields(r.kubectl(t, "api-resources", "--namespaced", "--verbs=list", "--output=name")),
		",")
	var left []string
	defer func() { t.Log(left) }()
	harness.Await(t, "nothing is left of "+r.namespace, func(context.Context) (bool, error) {
		left = nil
		for _, o := range r.get(t, r.namespace, kinds) {
			if o.kind() != "Event" {
				left = append(left, o.kind()+" "+o.name())
			}
		}
		slices.Sort(left)
		return reflect.DeepEqual(left, want), nil
	})
}
