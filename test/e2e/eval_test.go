package e2e_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/mneme-memory/mneme/local/cli"
	"github.com/mneme-memory/mneme/test/harness"
)

// evalFile is a conversation of three sessions with six questions, two of them with evidence ids written in ways to be restored.
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

// evaluated is what is read of the report.
type evaluated struct {
	RecallAt  map[string]float64 `json:"recall_at"`
	Words     map[string]float64 `json:"recall_at_words"`
	Contained float64            `json:"containment_at_10"`
	Cascade   map[string]float64
	Category  map[string]struct {
		RecallAt map[string]float64 `json:"recall_at"`
	}
	Baselines map[string]json.RawMessage
	Formation struct{ N int }        `json:"formation_ms"`
	Repairs   struct{ Repaired int } `json:"repairs"`
	Counts    struct{ Questions, Memories int }
	Latency   struct {
		P50  float64
		Bare struct{ P50 float64 } `json:"bare_query"`
	} `json:"latency_ms"`
}

// The evaluation takes a file the whole way: its sessions are published and formed, its questions asked, and what came is measured. A
// second time it finds the sessions formed.
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
	// There are hardly more memories than are shown, and what was told is plain: all but a little is found.
	if first.RecallAt["20"] < 0.7 || first.RecallAt["20"] < first.RecallAt["5"] || first.Words["500"] < 0.7 || first.Contained < 0.6 {
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

func evaluate(t *testing.T, file string) evaluated {
	t.Helper()
	var out, errOut bytes.Buffer
	code := cli.Execute(t.Context(), []string{
		"eval", "recall", "--json", "--data", file, "--connect", "--addr", shared.URL(t, harness.Utilizer), "--key", harness.KeyOf(tenantEval),
		"--brokers", shared.Servers.Broker.Addr(), "--tenant", tenantEval, "--timed", "12",
	}, &out, &errOut)
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	var r evaluated
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	return r
}
