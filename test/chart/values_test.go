//go:build chart

package chart_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// TestWrongValuesAreTold sets values that the schema or the chart refuses.
func TestWrongValuesAreTold(t *testing.T) {
	t.Parallel()
	component := func(name string, values map[string]any) map[string]any {
		return map[string]any{"components": map[string]any{name: values}}
	}
	keda := map[string]any{"autoscaling": map[string]any{"kind": "keda"}}
	key := map[string]any{"apiKey": map[string]any{"existingSecret": "x"}}
	sentinel := func(values map[string]any) map[string]any {
		return map[string]any{"redis": map[string]any{"sentinel": values}}
	}
	for want, values := range map[string]map[string]any{
		"redis.sentinel.master: is empty": sentinel(map[string]any{"user": "watcher"}),
		"redis.sentinel.master: is empty, and a user or a secret": sentinel(map[string]any{
			"auth": map[string]any{"existingSecret": "x"},
		}),
		"networkPolicy.ports.redis: is empty": sentinel(map[string]any{"master": "mneme"}),

		"at '/kafka': additional properties 'broker'": {"kafka": map[string]any{"broker": "k:1"}},
		"at '/components/gateway': additional properties 'autoscale'": component("gateway",
			map[string]any{"autoscale": true}),
		"at '/components': additional properties 'boosters'": component("boosters", map[string]any{}),
		"at '/kafka/partitions': got string":                 {"kafka": map[string]any{"partitions": "many"}},
		"components.gateway.terminationGracePeriodSeconds: is 50, want more than the 50 that drain may take": component(
			"gateway",
			map[string]any{"terminationGracePeriodSeconds": 50}),
		"components.reranker.autoscaling.kind: is keda": component("reranker", keda),
		"components.saliency-filter: 30 replicas, and kafka.partitions is 24": component("saliency-filter",
			map[string]any{"replicas": 30}),
		"kafka.sasl: user and existingSecret go together": {
			"kafka": map[string]any{"sasl": map[string]any{"user": "mneme"}},
		},
		"kafka.minInSyncReplicas: is 3, want no more than kafka.replicas": {"kafka": map[string]any{"replicas": 2,
			"minInSyncReplicas": 3}},
		"temporal.tls.enabled: is false": {"temporal": key},
		"tenants: directory, existingSecret or list is needed": {
			"tenants": map[string]any{"directory": false},
		},
		"embedding.kind: is endpoint": {
			"embedding": map[string]any{"kind": "endpoint"},
		},
		"test.existingSecret: is empty": {"test": map[string]any{"enabled": true}},

		"ingress.hosts: is empty":        {"ingress": map[string]any{"enabled": true}},
		"httpRoute.parentRefs: is empty": {"httpRoute": map[string]any{"enabled": true}},
		"service.loadBalancerClass: is given, and service.type is NodePort": {
			"service": map[string]any{"type": "NodePort", "loadBalancerClass": "internal"}},
		"service.loadBalancerSourceRanges: is given": {
			"service": map[string]any{"loadBalancerSourceRanges": []string{"10.0.0.0/8"}},
		},
		"components.gateway.strategy.rollingUpdate: maxSurge and maxUnavailable are both 0": component("gateway",
			map[string]any{"strategy": map[string]any{"rollingUpdate": map[string]any{"maxSurge": "0%"}}}),
		"at '/components/gateway/maxUnavailable'": component("gateway", map[string]any{"maxUnavailable": 0}),
		"certificateAuthorities: existingSecret and existingConfigMap": {
			"certificateAuthorities": map[string]any{"existingSecret": "x", "existingConfigMap": "x"}},
		"tenants: existingSecret and list": {
			"tenants": map[string]any{"existingSecret": "x", "list": []any{map[string]any{"id": "acme"}}}},
		"additional properties 'apikeys'": {
			"tenants": map[string]any{"list": []any{map[string]any{"id": "acme", "apikeys": []string{}}}}},
		"defaults.image: would be": {"defaults": map[string]any{"image": "x"}},
		"components.utilizer.enabled: is false, and the gateway needs it": component("utilizer",
			map[string]any{"enabled": false}),
		"ingress.enabled: is true, and components.gateway.enabled is false": {
			"ingress":    map[string]any{"enabled": true, "hosts": []string{"m.example.com"}},
			"components": map[string]any{"gateway": map[string]any{"enabled": false}},
		},
		"components.gateway.resources.requests.cpu: is empty": {
			"defaults":   map[string]any{"resources": map[string]any{"requests": nil}},
			"components": map[string]any{"gateway": map[string]any{"autoscaling": map[string]any{"kind": "hpa"}}},
		},
		"at '/fullnameOverride'": {"fullnameOverride": "1st"},
		"commonLabels.app.kubernetes.io/name: is the chart's own": {
			"commonLabels": map[string]any{"app.kubernetes.io/name": "memory"},
		},
		"components.gateway.podLabels.app.kubernetes.io/component: is the chart's own": component("gateway",
			map[string]any{"podLabels": map[string]any{"app.kubernetes.io/component": "door"}}),
		"defaults.podAnnotations.checksum/config: is the chart's own": {
			"defaults": map[string]any{"podAnnotations": map[string]any{"checksum/config": "x"}}},
		"components.booster-attribution.enabled: is false, and erasures by booster-intake": component("booster-attribution",
			map[string]any{"enabled": false}),
		"extraEnv.NO_PROXY: lacks mneme-reranker, mneme-utilizer, weaviate: calls to them would go by HTTP_PROXY": {
			"extraEnv": map[string]any{"http_proxy": "http://proxy:3128", "NO_PROXY": ".svc,mneme-gateway"}},
		"extraEnv.NO_PROXY: lacks temporal-frontend, weaviate-grpc: calls to them would go by HTTPS_PROXY": {
			"migration": map[string]any{"pod": map[string]any{"extraEnv": map[string]any{"HTTPS_PROXY": "http://proxy:3128"}}}},
		"components.gateway.resources.requests.memory: is 1Gi, more than the limit, 512Mi": component("gateway",
			map[string]any{"resources": map[string]any{"requests": map[string]any{"memory": "1Gi"}}}),
		"extraEnv.NO_PROXY: lacks mneme-gateway: calls": {"test": map[string]any{"enabled": true, "existingSecret": "x",
			"pod": map[string]any{"extraEnv": map[string]any{"HTTP_PROXY": "http://proxy:3128"}}}},
		"defaults.extraVolumes: tmp is the chart's own name": {"defaults": map[string]any{"extraVolumes": []any{
			map[string]any{"name": "tmp", "emptyDir": map[string]any{}}}}},
		"migration.temporalRetention: is 90m, want 24h": {"migration": map[string]any{"temporalRetention": "90m"}},
		"at '/defaults/livenessProbe/successThreshold'": {
			"defaults": map[string]any{"livenessProbe": map[string]any{"successThreshold": 2}},
		},
		"at '/defaults/tmpSize'": {"defaults": map[string]any{"tmpSize": "64MB"}},
		"at '/defaults/resources/limits/memory'": {
			"defaults": map[string]any{"resources": map[string]any{"limits": map[string]any{"memory": "1 GB"}}}},
		"at '/ingress/hosts/0'":       {"ingress": map[string]any{"hosts": []string{"https://m.example.com"}}},
		"at '/httpRoute/hostnames/0'": {"httpRoute": map[string]any{"hostnames": []string{"m.example.com:443"}}},
		"at '/networkPolicy/to/kafka/0'": {
			"networkPolicy": map[string]any{"to": map[string]any{"kafka": []any{map[string]any{"cidr": "10.0.0.0/8"}}}}},

		"redis.db: is 2, and several addresses": {"redis": map[string]any{"db": 2, "addresses": []string{"a:1", "b:1"}}},
		"additional properties 'replicas'":      {"migration": map[string]any{"pod": map[string]any{"replicas": 2}}},
		"additional properties 'livenessProbe'": {
			"test": map[string]any{"pod": map[string]any{"livenessProbe": map[string]any{}}},
		},
	} {
		t.Run(strings.ReplaceAll(want, ",", ""), func(t *testing.T) {
			_, err := helm(t, []string{"template", "mneme", chart}, valuesOf(t, values))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestRightValuesAreTaken sets values just inside the limits.
func TestRightValuesAreTaken(t *testing.T) {
	t.Parallel()
	of := func(section, key string, value any) map[string]any {
		return map[string]any{section: map[string]any{key: value}}
	}
	limits := func(limits any) map[string]any { return of("defaults", "resources", map[string]any{"limits": limits}) }
	retention := func(d string) map[string]any { return of("migration", "temporalRetention", d) }
	brief := retention("1h")
	brief["migration"].(map[string]any)["skip"] = []string{"temporal"}
	for name, values := range map[string]map[string]any{
		"a probe as others write it": of("defaults", "livenessProbe", map[string]any{"successThreshold": 1}),
		"memory as a number":         of("defaults", "extraEnv", map[string]any{"GOMEMLIMIT": 419430400}),
		"no limit of one resource":   limits(map[string]any{"cpu": nil, "memory": "1.5Gi"}),
		"no limits":                  limits(nil),
		"quantities":                 limits(map[string]any{"memory": "1e+9", "cpu": ".5", "ephemeral-storage": "1Ei"}),
		"a version of pods":          of("defaults", "podLabels", map[string]any{"app.kubernetes.io/version": "1.2"}),
		"days":                       retention("72h30m"), "minutes": retention("4320m"), "fractions": retention("24.5h"),
		"a retention of others": brief,
		"no proxy":              {"extraEnv": map[string]any{"HTTPS_PROXY": ""}},
		"a proxy for all": {
			"extraEnv": map[string]any{"HTTPS_PROXY": "http://proxy:3128", "HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "*"}},
		"a proxy but for names": {
			"extraEnv": map[string]any{"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "weaviate-grpc, temporal-frontend:7233"}},
		"a proxy for nobody": of("components", "reranker",
			map[string]any{"extraEnv": map[string]any{"HTTPS_PROXY": "http://proxy:3128"}}),
		"attributes of telemetry":  {"extraEnv": map[string]any{"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test"}},
		"a condition of its chart": {"enabled": true},
		"a share as text":          of("telemetry", "sampleRatio", "0.05"),
		"a rule for all hosts":     {"ingress": map[string]any{"enabled": true, "hosts": []string{""}}},
		"IPv6":                     of("kafka", "brokers", []string{"[fd00::1]:9092"}),
		"scraping as usual":        {"serviceMonitor": map[string]any{"enabled": true, "interval": ""}},
		"a limit of cpu": of("components", "gateway", map[string]any{"autoscaling": map[string]any{"kind": "hpa"},
			"resources": map[string]any{"requests": map[string]any{"cpu": nil}, "limits": map[string]any{"cpu": 1}}}),
	} {
		t.Run(name, func(t *testing.T) { render(t, valuesOf(t, values)) })
	}
}

// TestNullIsNoValue removes each value of the chart. A missing required value gives an error with its name; any other
// missing value gives no error.
func TestNullIsNoValue(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(chart + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(content, &values); err != nil {
		t.Fatal(err)
	}
	for key, value := range values {
		without := []map[string]any{{key: nil}}
		if section, ok := value.(map[string]any); ok {
			for inner := range section {
				without = append(without, map[string]any{key: map[string]any{inner: nil}})
			}
		}
		t.Run(key, func(t *testing.T) {
			for _, values := range without {
				_, err := helm(t, []string{"template", "mneme", chart}, valuesOf(t, values))
				if err != nil && !strings.Contains(err.Error(), "missing propert") {
					t.Errorf("without %v: %v", values, err)
				}
			}
		})
	}
}

// TestNullTakesOutWhatIsLaidUnder removes a common value for one component.
func TestNullTakesOutWhatIsLaidUnder(t *testing.T) {
	all := render(t, valuesOf(t, map[string]any{
		"extraEnv": map[string]any{"REGION": "north"},
		"components": map[string]any{"gateway": map[string]any{
			"extraEnv": map[string]any{"REGION": nil}, "resources": map[string]any{"limits": map[string]any{"memory": nil}},
		}},
	}))
	for component, want := range map[string]bool{"gateway": false, "reranker": true} {
		values, elsewhere := all.settings(component)
		if _, has := values["REGION"]; has != want || slices.Contains(elsewhere, "GOMEMLIMIT") != want {
			t.Errorf("%s has %v and %v", component, values, elsewhere)
		}
	}
}

// TestNamesAreThoseOfServices sets a release name that is invalid at the start of a Service's name.
func TestNamesAreThoseOfServices(t *testing.T) {
	for _, release := range []string{"1st", "mneme.prod"} {
		_, err := helm(t, []string{"template", release, chart})
		if err == nil || !strings.Contains(err.Error(), "fullnameOverride: names would begin") {
			t.Errorf("%s: got %v", release, err)
		}
		if _, err := helm(t, []string{"template", release, chart, "--set", "fullnameOverride=first"}); err != nil {
			t.Error(err)
		}
	}
}

// TestTenantsAreThoseThatServicesTake gives the same tenants to the chart and to the reader of its file. Both must
// accept them, or both must refuse them.
func TestTenantsAreThoseThatServicesTake(t *testing.T) {
	t.Parallel()
	hashed := tenant.HashKey("one")
	of := func(field string, value any) []any { return []any{map[string]any{"id": "acme", field: value}} }
	cases := map[string][]any{
		"policy trained": of("policy", "embedded@1.2"), "policy other": of("policy", "gpt"),
		"policy model trained":       of("policy", "llm@1"),
		"policy of another strategy": {map[string]any{"id": "acme", "strategy": "rmm", "policy": "embedded@1"}},
		"strategy other":             of("strategy", "mem0"), "saliency other": of("saliency", "drop"),
		"explore number": of("explore", 0.05), "explore text": of("explore", "0.25"), "explore off": of("explore", "off"),
		"explore much": of("explore", 2), "explore brief": of("explore", ".05"), "explore exponent": of("explore", "5e-2"),
		"explore point": of("explore", "1."), "explore less": of("explore", "-0.5"), "explore word": of("explore", "often"),
		"talk days": of("talk_days", 90), "talk for ever": of("talk_days", 0), "talk less": of("talk_days", -1),
		"talk long": of("talk_days", 36501), "talk half": of("talk_days", 0.5),
		"nothing": {map[string]any{"id": "acme", "strategy": nil, "policy": nil, "saliency": nil, "explore": nil,
			"api_keys": nil}},
		"id signs": {map[string]any{"id": "Acme_1"}}, "id ends": {map[string]any{"id": "acme-"}},
		"id short": {map[string]any{"id": "a"}},
		"id long":  {map[string]any{"id": strings.Repeat("a", 64)}},
		"id twice": {map[string]any{"id": "acme"}, map[string]any{"id": "acme"}},
		"key":      of("api_keys", []any{hashed}), "key in capitals": of("api_keys",
			[]any{"sha256:" + strings.ToUpper(hashed[7:])}),
		"key plain": of("api_keys", []any{"mneme-plain-key"}), "key short": of("api_keys", []any{hashed[:70]}),
		"key empty": of("api_keys", []any{tenant.HashKey("")}), "key twice": of("api_keys", []any{hashed, hashed}),
		"key of two": {map[string]any{"id": "a", "api_keys": []any{hashed}},
			map[string]any{"id": "b", "api_keys": []any{hashed}}},
	}
	for _, s := range append(tenant.Strategies(), "") {
		cases["strategy "+string(s)] = of("strategy", string(s))
	}
	for _, p := range append(tenant.Policies(), "") {
		cases["policy "+string(p)] = of("policy", string(p))
	}
	for _, s := range append(memory.SaliencyModes(), "") {
		cases["saliency "+string(s)] = of("saliency", string(s))
	}
	for name, list := range cases {
		t.Run(name, func(t *testing.T) {
			file, err := yaml.Marshal(map[string]any{"tenants": list})
			if err != nil {
				t.Fatal(err)
			}
			_, parsed := tenant.Parse(bytes.NewReader(file))
			_, rendered := helm(t, []string{"template", "mneme", chart},
				valuesOf(t, map[string]any{"tenants": map[string]any{"list": list}}))
			if (parsed == nil) != (rendered == nil) {
				t.Errorf("services say %v, the chart says %v", parsed, rendered)
			}
			if rendered != nil && (strings.Contains(rendered.Error(), "mneme-plain-key") ||
				!strings.Contains(rendered.Error(), "tenants")) {
				t.Errorf("the error shows a key, or is another: %v", rendered)
			}
		})
	}
}

// TestTheReadmeIsOfTheseValues finds values that the README lacks.
func TestTheReadmeIsOfTheseValues(t *testing.T) {
	readme, err := os.ReadFile(chart + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"kafka.brokers", "components", "drain.preStopSeconds", "networkPolicy.enabled",
		"extraObjects"} {
		if !strings.Contains(string(readme), "| "+value+" |") {
			t.Errorf("%s is missing: run `make generate`", value)
		}
	}
}

// TestNoValueIsForgotten searches the rendered chart for every text in the values of ci/everything.
func TestNoValueIsForgotten(t *testing.T) {
	const path = chart + "/ci/everything-values.yaml"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var values any
	if err := yaml.Unmarshal(content, &values); err != nil {
		t.Fatal(err)
	}
	rendered, err := helm(t, []string{"template", "mneme", chart}, path)
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{"hpa", "keda"} // kinds of scaling, which choose other objects
	for _, value := range texts(values) {
		line, _, _ := strings.Cut(value, "\n")
		if !strings.Contains(rendered, line) && !strings.Contains(line, "{{") && !slices.Contains(kinds, line) {
			t.Errorf("%q is nowhere", line)
		}
	}
}

// texts returns the texts in values.
func texts(values any) []string {
	var out []string
	switch v := values.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, inner := range v {
			out = append(out, texts(inner)...)
		}
	case map[string]any:
		for _, inner := range v {
			out = append(out, texts(inner)...)
		}
	}
	return out
}
