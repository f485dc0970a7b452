//go:build chart

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/servers"
)

// dig returns the value at a path of keys and indices.
func dig(t *testing.T, part any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch p := part.(type) {
		case object:
			part = p[step.(string)]
		case []any:
			part = p[step.(int)]
		}
		if part == nil {
			t.Fatalf("there is nothing at %v", path)
		}
	}
	return part
}

// release is an installation of a chart by the README's commands.
type release struct {
	name, namespace string
	values          object
}

var command = regexp.MustCompile(`helm upgrade --install (\S+) .*--namespace (\S+)(?:.* -f \$K/(\S+))?`)

// TestProductionFitsItsDependencies derives the expected addresses and Secrets from deploy/k8s/dependencies.
func TestProductionFitsItsDependencies(t *testing.T) {
	files := map[string][]object{}
	paths, err := filepath.Glob(folder + "/dependencies/*.yaml")
	if err != nil || len(paths) < 7 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	text := ""
	for _, path := range append(paths, folder+"/dependencies/README.md") {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text += string(content)
		if strings.HasSuffix(path, ".yaml") {
			if files[filepath.Base(path)], err = parse(content); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	releases := map[string]release{}
	for _, found := range command.FindAllStringSubmatch(text, -1) {
		r := release{name: found[1], namespace: found[2]}
		if found[3] != "" {
			r.values = files[found[3]][0]
		}
		releases[r.name] = r
	}
	objects := map[string]object{}
	for _, o := range slices.Concat(files["kafka.yaml"], files["certificates.yaml"]) {
		objects[fmt.Sprint(o["kind"], " ", dig(t, o, "metadata", "name"))] = o
	}

	kafka, listener := objects["Kafka mneme"], dig(t, objects["Kafka mneme"], "spec", "kafka", "listeners", 0)
	valkey, weaviate, temporal, collector := releases["valkey"], releases["weaviate"], releases["temporal"],
		releases["collector"]
	_, otlp, err := net.SplitHostPort(dig(t, collector.values, "config", "receivers", "otlp", "protocols", "http",
		"endpoint").(string))
	if err != nil {
		t.Fatal(err)
	}
	at := func(name, namespace, port any) string { return fmt.Sprintf("%v.%v:%v", name, namespace, port) }
	service := func(r release, key string) string {
		return at(dig(t, r.values, key, "name"), r.namespace, dig(t, r.values, key, "ports", 0, "port"))
	}
	want := map[string]any{
		"MNEME_KAFKA_BROKERS": at(fmt.Sprint(dig(t, kafka, "metadata", "name"), "-kafka-bootstrap"),
			dig(t, kafka, "metadata", "namespace"),
			dig(t, listener, "port")),
		"MNEME_KAFKA_TLS":                 dig(t, listener, "tls"),
		"MNEME_KAFKA_SASL":                dig(t, listener, "authentication", "type"),
		"MNEME_KAFKA_USER":                dig(t, objects["KafkaUser mneme"], "metadata", "name"),
		"MNEME_KAFKA_REPLICAS":            dig(t, objects["KafkaNodePool dual"], "spec", "replicas"),
		"MNEME_KAFKA_MIN_INSYNC_REPLICAS": dig(t, kafka, "spec", "kafka", "config", "min.insync.replicas"),
		"MNEME_REDIS_ADDRS": at(dig(t, valkey.values, "fullnameOverride"), valkey.namespace,
			dig(t, valkey.values, "service", "port")),
		"MNEME_REDIS_TLS": dig(t, valkey.values, "tls", "enabled"),
		"MNEME_TEMPORAL_ADDR": at(temporal.name+"-frontend", temporal.namespace,
			dig(t, temporal.values, "server", "frontend", "service", "port")),
		"MNEME_TEMPORAL_TLS":  dig(t, temporal.values, "server", "tls", "frontend", "enabled"),
		"MNEME_WEAVIATE_HTTP": service(weaviate, "service"),
		"MNEME_WEAVIATE_GRPC": service(weaviate, "grpcService"),
		"MNEME_WEAVIATE_TLS":  false,
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" +
			at(dig(t, collector.values, "fullnameOverride"), collector.namespace, otlp),
	}
	helm, err := servers.Binary(t.Context(), os.Stderr, servers.NameHelm)
	if err != nil {
		t.Fatal(err)
	}
	all, err := render(t.Context(), helm, repository, overlays["production"])
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, o := range all {
		data, _ := o["data"].(object)
		for setting, value := range want {
			if got, ok := data[setting]; ok && o["kind"] == "ConfigMap" {
				if seen[setting] = true; got != fmt.Sprint(value) {
					t.Errorf("%s: %s is %v, want %v", id(o), setting, got, value)
				}
			}
		}
		for _, secret := range secrets(o) {
			made := strings.Contains(text, "secret generic "+secret+" ") || strings.Contains(text, "secretName: "+secret+"\n")
			if !made && secret != "mneme-test" { // it is made once a tenant exists
				t.Errorf("%s: nothing makes the Secret %s", id(o), secret)
			}
		}
	}
	if len(seen) != len(want) {
		t.Errorf("settings %v, want all of %v", seen, want)
	}
	for certificate, setting := range map[string]string{"temporal-frontend": "MNEME_TEMPORAL_ADDR",
		"valkey": "MNEME_REDIS_ADDRS"} {
		host, _, _ := net.SplitHostPort(want[setting].(string))
		if names := dig(t, objects["Certificate "+certificate], "spec", "dnsNames").([]any); !slices.Contains(names,
			any(host)) {
			t.Errorf("the certificate %s is for %v, want %s, too", certificate, names, host)
		}
	}
}

// secrets returns the names of the Secrets that a part of an object reads.
func secrets(part any) []string {
	var out []string
	switch p := part.(type) {
	case object:
		for key, inner := range p {
			if o, ok := inner.(object); ok && (key == "secretKeyRef" || key == "secret") {
				for _, name := range []string{"name", "secretName"} {
					if s, ok := o[name].(string); ok {
						out = append(out, s)
					}
				}
			}
			out = append(out, secrets(inner)...)
		}
	case []any:
		for _, inner := range p {
			out = append(out, secrets(inner)...)
		}
	}
	return out
}
