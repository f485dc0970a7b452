package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/cli"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/test/harness"
)

// evalFile is a conversation of three sessions with six questions. Two of them have malformed evidence ids that the
// reader repairs.
const evalFile = `[{"sample_id":"petra","conversation":{"speaker_a":"Petra","speaker_b":"Goran",
"session_1_date_time":"9:10 am on 3 February, 2025","session_1":[
 {"speaker":"Petra","dia_id":"D1:1","text":"Hi Goran!"},
 {"speaker":"Goran","dia_id":"D1:2","text":"I work as a cartographer in Maribor."},
 {"speaker":"Petra","dia_id":"D1:3","text":"I adopted a parrot called Zinnia last week."},
 {"speaker":"Goran","dia_id":"D1:4","text":"Haha, nice!"}],
"session_2_date_time":"8:00 pm on 9 March, 2025","session_2":[
 {"speaker":"Petra","dia_id":"D2:1","text":"My sister Jelka plays the oboe in an orchestra."},
 {"speaker":"Goran","dia_id":"D2:2","text":"I love rhubarb cake."},
 {"speaker":"Petra","dia_id":"D2:3","text":"Okay, good night."}],
"session_3_date_time":"7:30 am on 1 May, 2025","session_3":[
 {"speaker":"Goran","dia_id":"D3:1","text":"I moved to Trieste yesterday."},
 {"speaker":"Petra","dia_id":"D3:2","text":"I am allergic to walnuts, by the way."}]},
"qa":[
 {"question":"What does Goran work as?","answer":"cartographer","evidence":["D1:2"],"category":4},
 {"question":"What is the name of Petra's parrot?","answer":"Zinnia","evidence":["D1:03"],"category":4},
 {"question":"Which instrument does Petra's sister Jelka play?","answer":"the oboe","evidence":["D2:1"],"category":4},
 {"question":"When did Goran move to Trieste?","answer":"30 April 2025","evidence":["D3:1"],"category":2},
 {"question":"Which towns has Goran lived or worked in?","answer":"Maribor and Trieste","evidence":["D1:2; D3:1"],"category":1},
 {"question":"What is Goran allergic to?","adversarial_answer":"walnuts","evidence":["D3:2"],"category":5}]}]`

// evaluated holds the fields that the test reads from the report.
type evaluated struct {
	RecallAt  map[string]float64 `json:"recall_at"`
	Words     map[string]float64 `json:"recall_at_words"`
	Contained float64            `json:"containment_at_10"`
	Cascade   map[string]float64
	Category  map[string]struct {
		RecallAt map[string]float64 `json:"recall_at"`
	}
	Baselines map[string]json.RawMessage
	Searched  float64
	Variants  []struct {
		Name     string
		Searched float64
		RecallAt map[string]float64 `json:"recall_at"`
		Words    map[string]float64 `json:"recall_at_words"`
	}
	Sweep []struct {
		Weights    string
		Candidates int
	}
	Formation struct{ N int }        `json:"formation_ms"`
	Repairs   struct{ Repaired int } `json:"repairs"`
	Counts    struct {
		Questions, Memories int
		Degraded            map[string]int `json:"degraded_recalls"`
	}
	Latency struct {
		P50  float64
		Bare struct{ P50 float64 } `json:"bare_query"`
	} `json:"latency_ms"`
}

// The evaluation processes a file through all services. It publishes the sessions, waits until they are formed, sends
// the questions and measures the results. A second run finds the sessions formed already.
func TestRecallIsMeasuredOnAFile(t *testing.T) {
	t.Setenv("MNEME_WEAVIATE_GRPC", shared.Servers.Weaviate.GRPC())
	file := filepath.Join(t.TempDir(), "talk.json")
	if err := os.WriteFile(file, []byte(evalFile), 0o600); err != nil {
		t.Fatal(err)
	}
	first, again := evaluate(t, file), evaluate(t, file)
	if first.Formation.N != 3 || again.Formation.N != 0 || first.Counts.Memories != again.Counts.Memories {
		t.Errorf(
			"formed %d sessions, then %d; %d memories, then %d",
			first.Formation.N,
			again.Formation.N,
			first.Counts.Memories,
			again.Counts.Memories,
		)
	}
	if first.Counts.Questions != 6 || first.Repairs.Repaired != 3 || len(first.Category) != 4 || len(first.Baselines) < 4 {
		t.Errorf(
			"counts %+v, repairs %+v, %d categories, %d baselines",
			first.Counts,
			first.Repairs,
			len(first.Category),
			len(first.Baselines),
		)
	}
	// The bank has hardly more memories than a recall returns, and the statements are simple. So recall is nearly
	// complete.
	if first.RecallAt["20"] < 0.7 || first.RecallAt["20"] < first.RecallAt["5"] || first.Words["500"] < 0.7 ||
		first.Contained < 0.6 {
		t.Errorf("recall %v, in words %v, containment %v", first.RecallAt, first.Words, first.Contained)
	}
	sum := 0.0
	for _, lost := range first.Cascade {
		sum += lost
	}
	if math.Abs(sum-1) > 1e-9 || first.Cascade["not_ingested"] > 0 {
		t.Errorf("cascade %v sums to %v", first.Cascade, sum)
	}
	if first.Latency.P50 <= 0 || first.Latency.Bare.P50 <= 0 {
		t.Errorf("times %+v", first.Latency)
	}
}

// The evaluation starts variants of Mneme and compares them on the same memories. One variant never has an index;
// another has weights without maps.
func TestRecallIsComparedWithVariants(t *testing.T) {
	prior, err := features.Prior()
	if err != nil {
		t.Fatal(err)
	}
	prior.Weights.Aq, prior.Weights.Am = make([]float32, ranking.Rank*ranking.Rank),
		make([]float32, ranking.Rank*ranking.Rank)
	for i := range ranking.Rank {
		prior.Weights.Aq[i*ranking.Rank+i] = 0.5
	}
	data, err := ranking.EncodePrior(prior)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, mapped := filepath.Join(dir, "talk.json"), filepath.Join(dir, "prior.json")
	if err := errors.Join(os.WriteFile(file, []byte(evalFile), 0o600), os.WriteFile(mapped, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MNEME_RERANKER_PRIOR", mapped)
	r := evaluated{}
	execute(t, &r, "--data", file, "--timed", "0", "--sweep")
	if len(r.Variants) != 2 || r.Searched == 1 || r.Variants[0].Searched != 1 || r.Variants[1].Searched != 0 {
		t.Fatalf("variants %+v, searched %v; want one that is cold and one without maps", r.Variants, r.Searched)
	}
	for _, v := range r.Variants {
		for what := range r.Counts.Degraded {
			if strings.HasPrefix(what, v.Name) {
				t.Errorf("degraded: %s", what)
			}
		}
		if v.RecallAt["20"] < 0.7 || v.Words["1000"] < 0.7 {
			t.Errorf("%s: recall %v, in words %v", v.Name, v.RecallAt, v.Words)
		}
	}
	if len(r.Sweep) != 12 || r.Sweep[0].Weights == r.Sweep[8].Weights || r.Sweep[4].Weights != r.Variants[0].Name ||
		r.Sweep[8].Weights != r.Variants[1].Name {
		t.Errorf("swept %+v, want four numbers of candidates with maps, cold and without maps", r.Sweep)
	}
}

func evaluate(t *testing.T, file string) evaluated {
	t.Helper()
	var r evaluated
	execute(t, &r, "--data", file, "--connect", "--url", shared.URL(t, harness.Utilizer), "--key",
		harness.KeyOf(tenantEval),
		"--brokers", shared.Servers.Broker.Addr(), "--tenant", tenantEval, "--timed", "12")
	return r
}

// execute measures recall with the given flags.
func execute(t *testing.T, r *evaluated, flags ...string) {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := cli.Execute(t.Context(), append([]string{"eval", "recall", "--json"}, flags...), &out,
		&errOut); code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
}
