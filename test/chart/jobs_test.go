//go:build chart

package chart_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/cli"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// TestJobsRunTheCommandLine makes the command line check the arguments of the migration job and of the test job.
func TestJobsRunTheCommandLine(t *testing.T) {
	all := render(t, chart+"/ci/everything-values.yaml")
	for component, want := range map[string]struct{ kind, hook, command string }{
		"migrate": {"Job", "pre-install,pre-upgrade", "migrate"}, "test": {"Pod", "test", "check gateway"},
	} {
		o := all.of(want.kind)[component]
		if hook := at[string](o, "metadata", "annotations", "helm.sh/hook"); hook != want.hook {
			t.Errorf("%s is run at %q", component, hook)
		}
		var args []string
		for _, a := range at[[]any](maps(at[[]any](o.pod(), "containers"))[0], "args") {
			args = append(args, a.(string))
		}
		if !strings.HasPrefix(strings.Join(args, " "), want.command) {
			t.Errorf("%s runs %q", component, args)
		}
		var out, complaints bytes.Buffer
		if code := cli.Execute(t.Context(), append(args, "--help"), &out, &complaints); code != command.ExitOK {
			t.Errorf("%s: the command line says %q to %q", component, complaints.String(), args)
		}
	}
	migration, elsewhere := all.settings("migrate")
	if migration["MNEME_KAFKA_RETENTION"] == "" || !slices.Contains(elsewhere, "MNEME_KAFKA_PASSWORD") {
		t.Errorf("the migration is set by %v and %v", migration, elsewhere)
	}
	if pod := all.of("Pod")["test"].pod(); strings.Contains(text(t, pod), "MNEME_KAFKA_PASSWORD") {
		t.Error("the test has secrets that it does not need")
	}
}

func TestTenantsOfValuesAreRead(t *testing.T) {
	for _, o := range render(t, chart+"/ci/tenants-values.yaml") {
		if o.kind() != "Secret" || !strings.HasSuffix(o.name(), "-tenants") {
			continue
		}
		tenants, err := tenant.Parse(strings.NewReader(at[string](o, "stringData", "tenants.yaml")))
		if err != nil || len(tenants) != 1 || tenants[0].Tenant.ID != "acme" {
			t.Errorf("got %v, %v", tenants, err)
		}
		return
	}
	t.Error("there is no Secret of tenants")
}

func TestFurtherObjectsAreRendered(t *testing.T) {
	var names []string
	for _, o := range render(t, chart+"/ci/everything-values.yaml") {
		names = append(names, o.name())
	}
	for _, want := range []string{"mneme-extra", "text-extra"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestComponentsCanBeLeftOut(t *testing.T) {
	all := render(t, valuesOf(t, map[string]any{
		"components": map[string]any{"booster-model": map[string]any{"enabled": false}},
	}))
	for _, o := range all {
		if o.component() == "booster-model" {
			t.Errorf("there is a %s of it", o.kind())
		}
	}
}
