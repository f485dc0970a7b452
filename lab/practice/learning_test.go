package practice_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/practice"
	"github.com/mneme-memory/mneme/shared/fault"
)

// smallLearning returns a small experiment.
func smallLearning(t *testing.T) practice.Options {
	t.Helper()
	o, err := practice.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	o.Steps, o.Every, o.Conversations, o.Sessions, o.Wrong = 40, 20, 3, 8, []float64{0, 0.3}
	o.Seeds = 2
	return o
}

func TestTwoTenantsLearnApart(t *testing.T) {
	o := smallLearning(t)
	report, err := practice.Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := practice.Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	reports := 2 * 2 * 2 * o.Steps * report.Batch // tenants, starts, shares
	if report.Update.N != reports || again.Update.N != reports {
		t.Errorf("%d updates were timed, then %d, want %d", report.Update.N, again.Update.N, reports)
	}
	again.Update = report.Update
	if !reflect.DeepEqual(report, again) {
		t.Error("the same options gave another report")
	}
	if len(report.Runs) != 8 || len(report.Tenants) != 2 || !report.Apart {
		t.Fatalf("%d runs of %d tenants, apart: %v", len(report.Runs), len(report.Tenants), report.Apart)
	}
	for _, run := range report.Runs {
		checkRun(t, o, run)
	}
	checkExploration(t, report.Exploration)
}

func checkExploration(t *testing.T, x practice.Exploration) {
	t.Helper()
	if x.Share != 0.2 || len(x.Costs) != 4 || len(x.Gains) != 2 {
		t.Fatalf("measured %+v", x)
	}
	for _, c := range x.Costs { // for few questions
		if lost := c.ByScore - c.Exploring; c.ByScore <= 0 || lost == 0 || math.Abs(lost) > 0.05 {
			t.Errorf("%s: %d memories cover %.4f of the evidence by score and %.4f exploring", c.Tenant, c.Shown, c.ByScore,
				c.Exploring)
		}
	}
	for _, g := range x.Gains {
		if len(g.With) != 2 || len(g.Without) != 2 || g.Before <= 0 || slices.Min(slices.Concat(g.With, g.Without)) <= 0 {
			t.Errorf("%+v, want two figures with exploration and two without", g)
		}
	}
}

func checkRun(t *testing.T, o practice.Options, run practice.Run) {
	t.Helper()
	first, last := run.Points[0], run.Points[len(run.Points)-1]
	if len(run.Points) != 1+o.Steps/o.Every || first.Step != 0 || last.Step != o.Steps || first.Distance != 0 ||
		last.Distance == 0 {
		t.Errorf("%s of %s has points %+v", run.Start, run.Tenant, run.Points)
	}
	if run.Start == practice.StartUntrained && last.Useful <= first.Useful {
		t.Errorf("untrained weights of %s show %.3f useful memories at first and %.3f at last", run.Tenant, first.Useful,
			last.Useful)
	}
	if want := math.Round(run.Wrong * float64(run.Cited)); math.Abs(float64(run.WrongCited)-want) > 0.5*want ||
		run.Cited == 0 ||
		run.Cited >= run.Shown {
		t.Errorf("%s: of %d shown %d were cited, %d wrongly, want about %v", run.Tenant, run.Shown, run.Cited, run.WrongCited,
			want)
	}
	if len(run.Elsewhere) != 1 {
		t.Errorf("the weights of %s were asked by %v", run.Tenant, run.Elsewhere)
	}
}

// twoTalks is a file of two users, with a question for each turn.
const twoTalks = `[` + talkOf + `"iris"` + aboutTandem + `,` + talkOf + `"bo"` + aboutTandem + `]`

const (
	talkOf      = `{"sample_id":`
	aboutTandem = `,"conversation":{"speaker_a":"Iris","speaker_b":"Bo",
	"session_1_date_time":"1:00 pm on 4 March, 2024","session_1":[
		{"speaker":"Iris","dia_id":"D1:1","text":"I bought a green tandem in Bergen."},
		{"speaker":"Bo","dia_id":"D1:2","text":"I work as a baker."},
		{"speaker":"Iris","dia_id":"D1:3","text":"My sister moved to Oslo."},{"speaker":"Bo","dia_id":"D1:4","text":"I love mussels."}]},
	"qa":[
		{"question":"What did Iris buy?","answer":"tandem","evidence":["D1:1"],"category":4},
		{"question":"What is Bo's job?","answer":"baker","evidence":["D1:2"],"category":4},
		{"question":"Where did the sister move?","answer":"Oslo","evidence":["D1:3"],"category":4},
		{"question":"What does Bo love?","answer":"mussels","evidence":["D1:4"],"category":4}]}`
)

func TestAFileIsSharedOutAmongTenants(t *testing.T) {
	o := smallLearning(t)
	o.Path, o.Steps, o.Every, o.Shown, o.Wrong = filepath.Join(t.TempDir(), "talks.json"), 2, 1, 1, []float64{0}
	if err := os.WriteFile(o.Path, []byte(twoTalks), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := practice.Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, about := range report.Tenants {
		if about.Streamed != 3 || about.HeldOut != 1 {
			t.Errorf("%s streams %d questions and holds out %d, want 3 and 1", about.Name, about.Streamed, about.HeldOut)
		}
	}
	var out bytes.Buffer
	if err := report.Render(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tenant-1", "tenant-2", "1 of 50 candidates shown", "to the bit", "untrained"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}

func TestAFileWithTooFewQuestionsIsRefused(t *testing.T) {
	o := smallLearning(t)
	o.Path = filepath.Join(t.TempDir(), "talks.json")
	asked := strings.Index(twoTalks, `"qa":[`) + len(`"qa":[`)
	one := twoTalks[:asked] + `{"question":"What did Iris buy?","answer":"tandem","evidence":["D1:1"],"category":4}]}]`
	if err := os.WriteFile(o.Path, []byte(one), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := practice.Evaluate(t.Context(), o); !errors.Is(err, dataset.ErrFormat) {
		t.Errorf("error %v, want one about the file", err)
	}
}

func TestLearningRefusesOptions(t *testing.T) {
	for field, change := range map[string]func(*practice.Options){
		"steps":         func(o *practice.Options) { o.Steps = 0 },
		"every":         func(o *practice.Options) { o.Every = o.Steps + 1 },
		"candidates":    func(o *practice.Options) { o.Candidates = 201 },
		"shown":         func(o *practice.Options) { o.Shown = o.Candidates + 1 },
		"conversations": func(o *practice.Options) { o.Conversations = 2 },
		"wrong":         func(o *practice.Options) { o.Wrong = []float64{math.NaN()} },
	} {
		t.Run(field, func(t *testing.T) {
			o := smallLearning(t)
			change(&o)
			if _, err := practice.Evaluate(t.Context(), o); !fault.IsTerminal(err) || fault.Field(err) != field {
				t.Errorf("error %v, want a terminal one about %s", err, field)
			}
		})
	}
}

func TestThePlotIsDrawn(t *testing.T) {
	report := practice.Report{
		Batch: 4, Steps: 100, Tenants: []practice.Tenant{{Name: "friends"}, {Name: "others"}},
		Runs: []practice.Run{{Start: practice.StartUntrained, Tenant: "friends", Points: []practice.Point{{}, {Step: 100}}}},
	}
	path := filepath.Join(t.TempDir(), "curves.svg")
	if err := report.Plot(path); err != nil {
		t.Fatal(err)
	}
	drawn, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"friends: recall@5", "others: useful memories", "steps of 4 reports",
		"untrained, 0 % of citations wrong"} {
		if !bytes.Contains(drawn, []byte(want)) {
			t.Errorf("the plot lacks %q", want)
		}
	}
	for d := xml.NewDecoder(bytes.NewReader(drawn)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("the plot is no XML: %v", err)
		}
	}
	if err := report.Plot(filepath.Join(t.TempDir(), "curves.txt")); err == nil {
		t.Error("a plot was drawn in a format that is not known")
	}
}
