//go:build chart

// Package alerts_test compares the chart's dashboards and alerts with the existing metrics, and fires each alert.
package alerts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mneme-memory/mneme/local/servers"
)

const (
	rulesFile = "../../charts/mneme/files/rules.yaml"
	boards    = "../../charts/mneme/files/dashboards/*.json"
	runbooks  = "../../docs/operations/alerts.md"
)

type rule struct {
	Record, Alert, Expr string
	Labels, Annotations map[string]string
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(read(t, rulesFile), &file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

type source struct{ Type, UID string }

type board struct {
	path          string
	UID           string
	Tags          []string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
	Panels []struct {
		ID         int
		Type       string
		Title      string
		Datasource source
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct {
			Expr       string
			Query      string // a query of traces
			Datasource source
		}
	}
}

func dashboards(t *testing.T) []board {
	t.Helper()
	paths, err := filepath.Glob(boards)
	if err != nil || len(paths) < 3 {
		t.Fatalf("dashboards %v: %v", paths, err)
	}
	all := make([]board, len(paths))
	for i, path := range paths {
		all[i].path = filepath.Base(path)
		if err := json.Unmarshal(read(t, path), &all[i]); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return all
}

// variables are the values of Grafana's variables.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$price_input", "1", "$price_output",
	"2", "\n", " ")

// query is a query of a dashboard or a rule, with its place.
type query struct{ where, text string }

func queries(t *testing.T) []query {
	t.Helper()
	var all []query
	for _, r := range rules(t) {
		all = append(all, query{r.Record + r.Alert, r.Expr})
	}
	for _, b := range dashboards(t) {
		for _, v := range b.Templating.List {
			of, _ := v.Query.(map[string]any)
			text, _ := of["query"].(string)
			if rest, ok := strings.CutPrefix(text, "label_values("); ok {
				at := strings.LastIndex(rest, ",")
				// The text of a label query becomes a grouping by the label, so that the label is checked, too.
				text = fmt.Sprintf("group by (%s) (%s)", strings.Trim(rest[at+1:], " )"), rest[:at])
				all = append(all, query{b.path + " $" + v.Name, text})
			} else if v.Type == "query" {
				t.Errorf("%s: the variable %s asks %v", b.path, v.Name, v.Query)
			}
		}
		for _, p := range b.Panels {
			for _, target := range p.Targets {
				if target.Datasource.Type == "prometheus" {
					all = append(all, query{b.path + " " + p.Title, target.Expr})
				}
			}
		}
	}
	for i := range all {
		all[i].text = variables.Replace(all[i].text)
	}
	return all
}

// asked is the promql program's analysis of a query.
type asked struct {
	Error   string
	Metrics []struct {
		Name   string
		Labels []string
	}
	Groups []struct{ Labels, Metrics []string }
}

func ask(t *testing.T, all []query) []asked {
	t.Helper()
	program, err := servers.Binary(t.Context(), t.Output(), servers.NamePromQL)
	if err != nil {
		t.Fatal(err)
	}
	var in, complaints bytes.Buffer
	for _, q := range all {
		fmt.Fprintln(&in, q.text)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin, cmd.Stderr = &in, &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	found := make([]asked, len(all))
	dec := json.NewDecoder(bytes.NewReader(out))
	for i := range found {
		if err := dec.Decode(&found[i]); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// made matches the label that a label_replace creates.
var made = regexp.MustCompile(`, "(\w+)", "\$1", "\w+"`)

// unknown returns the metrics and labels in a query that no service exports and that the query does not create.
func (r registry) unknown(text string, a asked) []string {
	if a.Error != "" {
		return []string{a.Error}
	}
	var out []string
	for _, m := range a.Metrics {
		labels, ok := r[m.Name]
		if !ok {
			out = append(out, "there is no metric "+m.Name)
			continue
		}
		for _, label := range m.Labels {
			if !slices.Contains(labels, label) {
				out = append(out, fmt.Sprintf("%s has no label %s", m.Name, label))
			}
		}
	}
	for _, g := range a.Groups {
		for _, label := range g.Labels {
			own := slices.ContainsFunc(made.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] == label })
			if !own && !slices.ContainsFunc(g.Metrics, func(name string) bool { return slices.Contains(r[name], label) }) {
				out = append(out, fmt.Sprintf("none of %v has a label %s", g.Metrics, label))
			}
		}
	}
	return out
}

// complete returns the registry with the metrics that rules record.
func complete(t *testing.T) registry {
	t.Helper()
	r := known(t)
	for _, rule := range rules(t) {
		if rule.Record == "" {
			continue
		}
		labels := []string{"namespace"}
		for label := range rule.Labels {
			labels = append(labels, label)
		}
		r[rule.Record] = labels
	}
	return r
}

func TestEveryQueryAsksForWhatThereIs(t *testing.T) {
	all, r := queries(t), complete(t)
	if len(all) < 80 {
		t.Fatalf("%d queries", len(all))
	}
	for i, a := range ask(t, all) {
		for _, wrong := range r.unknown(all[i].text, a) {
			t.Errorf("%s: %s in %s", all[i].where, wrong, all[i].text)
		}
	}
}

func TestWrongQueriesAreFound(t *testing.T) {
	all := []query{
		{text: "sum by (x"},
		{text: "rate(mneme_filter_turns[5m])"},
		{text: `mneme_filter_turns_total{mneme_stage="x"}`},
		{text: "sum by (mneme_stage) (mneme_filter_turns_total)"},
		{text: "up and on (mneme_tenant_id) mneme_filter_turns_total"},
	}
	r := complete(t)
	for i, a := range ask(t, all) {
		if len(r.unknown(all[i].text, a)) == 0 {
			t.Errorf("nothing is found in %s", all[i].text)
		}
	}
}

// Every metric of the registry is on a dashboard, because an unused metric need not be recorded.
func TestEveryMetricIsShown(t *testing.T) {
	var texts strings.Builder
	for _, q := range queries(t) {
		texts.WriteString(q.text + "\n")
	}
	for name := range known(t) {
		base := name
		for _, suffix := range []string{"_sum", "_count", "_bucket"} {
			base = strings.TrimSuffix(base, suffix)
		}
		if !strings.Contains(texts.String(), base) {
			t.Errorf("no query asks for %s", name)
		}
	}
}

func TestDashboardsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range dashboards(t) {
		if seen[b.UID] || b.UID != "mneme-"+strings.TrimSuffix(b.path, ".json") || b.SchemaVersion != 42 ||
			!slices.Contains(b.Tags, "mneme") {
			t.Errorf("%s: uid %s, schema %d, tags %v", b.path, b.UID, b.SchemaVersion, b.Tags)
		}
		seen[b.UID] = true
		vars, ids := map[string]bool{}, map[int]bool{}
		for _, v := range b.Templating.List {
			vars["${"+v.Name+"}"] = v.Type == "datasource"
		}
		for i, p := range b.Panels {
			if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: panel %d %q comes twice or does not fit", b.path, p.ID, p.Title)
			}
			ids[p.ID] = true
			for _, o := range b.Panels[:i] {
				a, c := p.GridPos, o.GridPos
				if a.X < c.X+c.W && c.X < a.X+a.W && a.Y < c.Y+c.H && c.Y < a.Y+a.H {
					t.Errorf("%s: %q lies over %q", b.path, p.Title, o.Title)
				}
			}
			if p.Type == "row" {
				continue
			}
			if !vars[p.Datasource.UID] || len(p.Targets) == 0 {
				t.Errorf("%s: %q asks %s", b.path, p.Title, p.Datasource.UID)
			}
			for _, target := range p.Targets {
				if target.Datasource != p.Datasource {
					t.Errorf("%s: %q asks %s", b.path, p.Title, target.Datasource.UID)
				}
			}
		}
	}
}

func TestEveryAlertHasARunbook(t *testing.T) {
	text := string(read(t, runbooks))
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		if !strings.Contains(text, "\n### "+r.Alert+"\n") ||
			r.Annotations["runbook"] != "docs/operations/alerts.md#"+strings.ToLower(r.Alert) {
			t.Errorf("%s has no section in alerts.md, or does not name it: %s", r.Alert, r.Annotations["runbook"])
		}
		if s := r.Labels["severity"]; s != "critical" && s != "warning" || r.Annotations["summary"] == "" {
			t.Errorf("%s: severity %q, summary %q", r.Alert, s, r.Annotations["summary"])
		}
	}
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	program, err := servers.Binary(t.Context(), t.Output(), servers.NamePromtool)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "rules", "--lint-fatal", rulesFile}, {"test", "rules", "series.yaml"}} {
		if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// promtool's tests fire every alert, and also have series that must not fire it.
func TestEveryAlertIsTried(t *testing.T) {
	var file struct {
		Tests []struct {
			Expected []struct {
				Alert  string `yaml:"alertname"`
				Firing []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal(read(t, "series.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	fires, not := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, e := range test.Expected {
			if len(e.Firing) > 0 {
				fires[e.Alert] = true
			} else {
				not[e.Alert] = true
			}
		}
	}
	for _, r := range rules(t) {
		if r.Alert != "" && (!fires[r.Alert] || !not[r.Alert]) {
			t.Errorf("%s: fires %v, does not %v", r.Alert, fires[r.Alert], not[r.Alert])
		}
	}
}
