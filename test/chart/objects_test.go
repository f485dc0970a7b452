//go:build chart

package chart_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

func TestChartsAreLinted(t *testing.T) {
	t.Parallel()
	for name, values := range shipped(t) {
		t.Run(name, func(t *testing.T) {
			for _, program := range []string{program, earlier} {
				if _, err := run(t, program, []string{"lint", "--strict", chart}, values...); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestHelm3RendersWhatHelm4Does(t *testing.T) {
	t.Parallel()
	for name, values := range shipped(t) {
		t.Run(name, func(t *testing.T) {
			now, before := map[string]string{}, map[string]string{}
			for program, texts := range map[string]map[string]string{program: now, earlier: before} {
				for _, o := range renderBy(t, program, values...) {
					if !strings.HasSuffix(o.name(), "-internal") { // its contents are random
						texts[o.kind()+" "+o.name()] = text(t, o)
					}
				}
			}
			if !reflect.DeepEqual(now, before) {
				t.Errorf("Helm 4 renders %v\nHelm 3 %v", now, before)
			}
		})
	}
}

func TestPodsAreRestricted(t *testing.T) {
	for name, values := range shipped(t) {
		t.Run(name, func(t *testing.T) {
			all, pods := render(t, values...), 0
			accounts := map[string]bool{}
			for _, o := range all {
				if o.kind() == "ServiceAccount" {
					accounts[o.name()] = true
					if mounts, ok := o["automountServiceAccountToken"].(bool); !ok || mounts {
						t.Errorf("account %s has a token mounted", o.name())
					}
				}
			}
			for _, o := range all {
				pod := o.pod()
				if pod == nil {
					continue
				}
				pods++
				checkRestricted(t, o.name(), pod)
				if account := at[string](pod, "serviceAccountName"); !accounts[account] {
					t.Errorf("%s: there is no account %q", o.name(), account)
				}
			}
			if pods < 10 {
				t.Errorf("%d kinds of pods", pods)
			}
		})
	}
}

// checkRestricted checks a pod against the restricted profile of Kubernetes' pod security standards and some further
// rules.
func checkRestricted(t *testing.T, name string, pod map[string]any) {
	t.Helper()
	if mounts, ok := pod["automountServiceAccountToken"].(bool); !ok || mounts {
		t.Errorf("%s has a token mounted", name)
	}
	security := at[map[string]any](pod, "securityContext")
	seccomp := at[string](security, "seccompProfile", "type")
	if !at[bool](security, "runAsNonRoot") || at[int](security, "runAsUser") == 0 || seccomp != "RuntimeDefault" {
		t.Errorf("%s: the pod's security context is %v", name, security)
	}
	for _, c := range maps(at[[]any](pod, "containers")) {
		security := at[map[string]any](c, "securityContext")
		escalates, ok := security["allowPrivilegeEscalation"].(bool)
		if !ok || escalates || !at[bool](security, "readOnlyRootFilesystem") ||
			!reflect.DeepEqual(at[[]any](security, "capabilities", "drop"), []any{"ALL"}) || len(security) != 3 {
			t.Errorf("%s: the container's security context is %v", name, security)
		}
	}
	for _, v := range maps(at[[]any](pod, "volumes")) {
		if v["hostPath"] != nil {
			t.Errorf("%s mounts %v of its node", name, v)
		}
	}
}

func TestDeploymentsCanBeOperated(t *testing.T) {
	t.Parallel()
	for name, values := range shipped(t) {
		t.Run(name, func(t *testing.T) {
			all := render(t, values...)
			deployments, budgets, configs := all.of("Deployment"), all.of("PodDisruptionBudget"), all.of("ConfigMap")
			if len(deployments) != 9 {
				t.Errorf("%d deployments", len(deployments))
			}
			for component, d := range deployments {
				labels := at[map[string]any](d, "spec", "selector", "matchLabels")
				if b := at[map[string]any](budgets[component], "spec", "selector", "matchLabels"); !reflect.DeepEqual(b, labels) {
					t.Errorf("%s: the budget is for %v", component, b)
				}
				for key, value := range labels {
					if at[map[string]any](d, "spec", "template", "metadata", "labels")[key] != value {
						t.Errorf("%s: its pods lack %s", component, key)
					}
				}
				if sum := at[string](d, "spec", "template", "metadata", "annotations", "checksum/config"); len(sum) != 64 {
					t.Errorf("%s: the checksum is %q", component, sum)
				}
				scaled := all.of("HorizontalPodAutoscaler")[component] != nil || all.of("ScaledObject")[component] != nil
				if _, fixed := at[map[string]any](d, "spec")["replicas"]; fixed == scaled {
					t.Errorf("%s: replicas given %v, scaled %v", component, fixed, scaled)
				}
				container := maps(at[[]any](d.pod(), "containers"))[0]
				checkProbes(t, component, container)
				from := maps(at[[]any](container, "envFrom"))
				if len(from) != 1 || at[string](from[0], "configMapRef", "name") != configs[component].name() {
					t.Errorf("%s: settings come from %v", component, from)
				}
				requests, limits := at[map[string]any](container, "resources", "requests"),
					at[map[string]any](container, "resources", "limits")
				if requests["cpu"] == nil || requests["memory"] == nil || limits["memory"] == nil ||
					limits["ephemeral-storage"] == nil {
					t.Errorf("%s: resources are %v", component, container["resources"])
				}
				checkGrace(t, all, component, d.pod(), container)
			}
		})
	}
}

func checkProbes(t *testing.T, component string, container map[string]any) {
	t.Helper()
	for probe, path := range map[string]string{"startupProbe": "/healthz", "livenessProbe": "/healthz",
		"readinessProbe": "/readyz"} {
		if got := at[string](container, probe, "httpGet", "path"); got != path ||
			at[string](container, probe, "httpGet", "port") != "http" {
			t.Errorf("%s: the %s asks %q", component, probe, got)
		}
	}
}

// checkGrace checks that the grace period covers the shutdown time of the service's settings.
func checkGrace(t *testing.T, all objects, component string, pod, container map[string]any) {
	t.Helper()
	settings, _ := all.settings(component)
	var delay, stage int
	if _, err := fmt.Sscanf(settings["MNEME_DRAIN_DELAY"]+" "+settings["MNEME_SHUTDOWN_TIMEOUT"], "%ds %ds", &delay,
		&stage); err != nil {
		t.Fatal(err)
	}
	sleep := at[int](container, "lifecycle", "preStop", "sleep", "seconds")
	if grace := at[int](pod, "terminationGracePeriodSeconds"); sleep == 0 || grace <= sleep+delay+4*stage {
		t.Errorf("%s: %d s of grace for %d s before the signal, %d s of delay and stages of %d s", component, grace, sleep,
			delay, stage)
	}
}

func TestAChangeOfSettingsStartsThePodsThatHaveThem(t *testing.T) {
	before := render(t).of("Deployment")
	after := render(t, valuesOf(t, map[string]any{
		"extraEnv": map[string]any{"MNEME_FILTER_KEEP": "24h"},
	})).of("Deployment")
	for component, d := range before {
		changed := !reflect.DeepEqual(d, after[component])
		if changed != (component == "saliency-filter") {
			t.Errorf("%s changed: %v", component, changed)
		}
	}
}

// reaches lists the connections of each component in services/wiring and in the services, to other components and to
// external systems. Targets in brackets depend on an embedding model or on any model.
var reaches = map[string][]string{
	"gateway":             {"kafka", "redis", "reranker", "utilizer", "webhooks"},
	"utilizer":            {"kafka", "model", "redis", "reranker", "temporal", "weaviate"},
	"reranker":            {"kafka", "redis"},
	"saliency-filter":     {"kafka", "model", "redis"},
	"booster-intake":      {"embedding", "kafka", "redis", "temporal", "weaviate"},
	"booster-attribution": {"embedding", "kafka", "redis", "temporal", "weaviate"},
	"booster-workflow":    {"embedding", "kafka", "redis", "temporal", "weaviate"},
	"booster-model":       {"kafka", "model", "redis", "temporal", "weaviate"},
	"booster-store":       {"embedding", "kafka", "redis", "temporal", "weaviate"},
	"migrate":             {"embedding", "kafka", "temporal", "weaviate"},
	"test":                {"gateway"},
}

// outside maps ports to external systems, one port each, in the test's values.
var outside = map[int]string{
	9999: "kafka", 9998: "redis", 9997: "temporal", 9996: "weaviate", 9995: "weaviate", 9994: "model", 9993: "collector",
	443: "webhooks",
}

func TestNetworkPoliciesAreTheGraph(t *testing.T) {
	values := map[string]any{
		"kafka": map[string]any{"brokers": []string{"k:9999"}}, "redis": map[string]any{"addresses": []string{"r:9998"}},
		"temporal": map[string]any{"address": "t:9997"}, "weaviate": map[string]any{"http": "w:9996", "grpc": "w:9995"},
		"model":         map[string]any{"baseUrl": "http://m:9994/v1", "name": "large"},
		"telemetry":     map[string]any{"endpoint": "http://c:9993"},
		"networkPolicy": map[string]any{"ports": map[string]any{"weaviate": []int{}}},
		"test":          map[string]any{"enabled": true, "existingSecret": "key"},
	}
	for kind, model := range map[string]string{"builtin": "", "endpoint": "small"} {
		t.Run(kind, func(t *testing.T) {
			values["embedding"] = map[string]any{"kind": kind, "model": model}
			policies := render(t, valuesOf(t, values)).of("NetworkPolicy")
			if len(policies) != len(reaches) {
				t.Errorf("%d policies, want %d", len(policies), len(reaches))
			}
			callers := map[string][]string{}
			for component, want := range reaches {
				want = slices.Clone(want)
				if i := slices.Index(want, "embedding"); i >= 0 && kind == "endpoint" {
					want[i] = "model"
				} else if i >= 0 {
					want = slices.Delete(want, i, i+1)
				}
				if !slices.Contains([]string{"test", "migrate"}, component) {
					want = append(want, "collector")
				}
				slices.Sort(want)
				got := edges(t, at[[]any](policies[component], "spec", "egress"))
				if !slices.Equal(got, want) {
					t.Errorf("%s may reach %v, want %v", component, got, want)
				}
				for _, called := range got {
					callers[called] = append(callers[called], component)
				}
			}
			for component := range reaches {
				checkIngress(t, component, policies[component], callers[component])
			}
		})
	}
}

// edges returns the components and external systems in the targets of rules.
func edges(t *testing.T, rules []any) []string {
	t.Helper()
	var out []string
	for _, rule := range maps(rules) {
		ports := maps(at[[]any](rule, "ports"))
		if len(ports) == 0 {
			t.Error("a rule is for every port")
			continue
		}
		if ports[0]["port"] == "http" {
			out = append(out, peers(rule, "to")...)
			continue
		}
		for _, p := range ports {
			if port, ok := p["port"].(int); !ok || port != 53 {
				out = append(out, outside[port])
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// peers returns the components in a rule.
func peers(rule map[string]any, side string) []string {
	var out []string
	for _, p := range maps(at[[]any](rule, side)) {
		if c := at[string](p, "podSelector", "matchLabels", "app.kubernetes.io/component"); c != "" {
			out = append(out, c)
		}
	}
	return out
}

// checkIngress checks that the callers of a component, and scrapers of metrics, can reach it.
func checkIngress(t *testing.T, component string, policy object, callers []string) {
	t.Helper()
	if types := at[[]any](policy, "spec", "policyTypes"); !reflect.DeepEqual(types, []any{"Ingress", "Egress"}) {
		t.Errorf("%s: the policy is of %v", component, types)
	}
	var http, metrics bool
	for _, rule := range maps(at[[]any](policy, "spec", "ingress")) {
		switch maps(at[[]any](rule, "ports"))[0]["port"] {
		case "http":
			got := peers(rule, "from")
			slices.Sort(got)
			slices.Sort(callers)
			if http = true; component != "gateway" && !slices.Equal(got, callers) {
				t.Errorf("%s may be called by %v, and is by %v", component, got, callers)
			}
		case "metrics":
			metrics = true
		default:
			t.Errorf("%s: unexpected rule %v", component, rule)
		}
	}
	job := component == "migrate" || component == "test"
	if http != (len(callers) > 0) || metrics == job {
		t.Errorf("%s: reached by http %v, for metrics %v", component, http, metrics)
	}
}

// TestScalersWatchWhatIsRead compares topics, groups and task queues with those in the services.
func TestScalersWatchWhatIsRead(t *testing.T) {
	group := func(setting string) string {
		for _, s := range standalone.AllServices() {
			for _, row := range s.Settings() {
				if row.Name == setting {
					return row.Default
				}
			}
		}
		return ""
	}
	keda := map[string]any{"kind": "keda"}
	values := map[string]any{}
	want := map[string]string{
		"saliency-filter":     contract.TopicSessionEvents + " " + group("MNEME_FILTER_GROUP"),
		"booster-intake":      contract.TopicSalientTurns + " " + group("MNEME_BOOSTER_GROUP"),
		"booster-attribution": contract.TopicSalientTurns + " " + group("MNEME_BOOSTER_GROUP") + "-attribution",
		"booster-workflow":    consolidation.QueueWorkflow + " workflow",
		"booster-model":       consolidation.QueueModel + " activity",
		"booster-store":       consolidation.QueueStore + " activity",
	}
	for component := range want {
		values[component] = map[string]any{"autoscaling": keda}
	}
	scaled := render(t, valuesOf(t, map[string]any{"components": values})).of("ScaledObject")
	for component, watched := range want {
		triggers := maps(at[[]any](scaled[component], "spec", "triggers"))
		if len(triggers) != 1 {
			t.Fatalf("%s has %d triggers", component, len(triggers))
		}
		m := at[map[string]any](triggers[0], "metadata")
		got := fmt.Sprintf("%v %v", m["topic"], m["consumerGroup"])
		if triggers[0]["type"] == "temporal" {
			got = fmt.Sprintf("%v %v", m["taskQueue"], m["queueTypes"])
		}
		if got != watched {
			t.Errorf("%s is scaled by %q, want %q", component, got, watched)
		}
	}
}

// free are the parts of values with arbitrary keys, named by Kubernetes or by users.
var free = []string{"global", "requests", "limits", "commonLabels", "labels", "matchLabels", "annotations",
	"nodeSelector", "podLabels",
	"podAnnotations", "serviceAccountAnnotations", "podSecurityContext", "securityContext", "affinity", "variables",
	"objects"}

func TestTheSchemaIsStrict(t *testing.T) {
	content, err := os.ReadFile(chart + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(content, &schema); err != nil {
		t.Fatal(err)
	}
	checkStrict(t, "values", schema)
}

func checkStrict(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	name := path[strings.LastIndex(path, ".")+1:]
	if schema["type"] == "object" && schema["additionalProperties"] != false && !slices.Contains(free, name) {
		t.Errorf("%s takes any key", path)
	}
	if items := at[map[string]any](schema, "items"); items != nil {
		checkStrict(t, path, items)
	}
	for _, inner := range []string{"properties", "definitions"} {
		for key, value := range at[map[string]any](schema, inner) {
			if s, ok := value.(map[string]any); ok {
				checkStrict(t, path+"."+strings.ReplaceAll(key, ".", "_"), s)
			}
		}
	}
}
