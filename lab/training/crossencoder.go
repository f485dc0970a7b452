package training

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/formation/relation/crossencoder"
)

// statementLine is a statement as train.py of the cross-encoder reads it.
type statementLine struct {
	Later  string   `json:"later"`
	Stored []string `json:"stored"`
	Of     int      `json:"of"`
	Does   string   `json:"does"`
	Part   string   `json:"part"`
	// Facts are those of the stored statement Of where it may tell several.
	Facts []string `json:"facts,omitempty"`
	// Change is by stored statement the larger of a model's logits of a change.
	Change []float64 `json:"change"`
	MadeUp bool      `json:"made_up"`
}

// StatementDefaults are those of the statements that the cross-encoder learns from: it takes more made-up people than the linear model.
func StatementDefaults() RelationOptions {
	o := RelationDefaults()
	o.Lives = 60
	return o
}

// SmallTalk is what friends' chats of a split have of it.
func SmallTalk(s corpus.Split) ([]string, error) {
	chats, err := corpus.Chats(s)
	var out []string
	for _, c := range chats {
		out = append(out, c.SmallTalk()...)
	}
	return out, err
}

// WriteStatements writes what the cross-encoder learns from, a JSON object a line: statements, with what the linear model makes of each,
// and small talk, as statements with nothing stored.
func WriteStatements(out io.Writer, statements []corpus.Among, smallTalk []string, model *relation.Model) error {
	lines := make([]statementLine, len(statements))
	onAll(len(statements), func(i int) {
		a := statements[i]
		line := statementLine{
			Later: a.Later.Text, Of: a.Looks, Does: a.Label.String(), Part: a.Part, MadeUp: a.Batch == livesBatch,
		}
		if a.Looks >= 0 {
			if facts := embedded.Facts(a.Stored[a.Looks].Text); len(facts) > 1 {
				line.Facts = facts
			}
		}
		readings := make([]relation.Reading, len(a.Stored))
		for j, s := range a.Stored {
			line.Stored, readings[j] = append(line.Stored, s.Text), model.Read(s)
		}
		for _, z := range model.Logits(model.Read(a.Later), readings) {
			change := float64(max(z[relation.Replaces-1], z[relation.Ends-1]))
			line.Change = append(line.Change, math.Round(1e3*change)/1e3)
		}
		lines[i] = line
	})
	for _, said := range smallTalk {
		lines = append(lines, statementLine{
			Later: said, Stored: []string{}, Of: -1, Does: relation.Unrelated.String(), Change: []float64{},
		})
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			return fmt.Errorf("write statements: %w", err)
		}
	}
	return nil
}

// JudgeOptions say how the linear model of relations and the cross-encoder go together, and what their thresholds are chosen for.
type JudgeOptions struct {
	From          float64 `json:"from"`
	Most          int     `json:"most"`
	Share         float64 `json:"share"`
	Message       float64 `json:"message"`
	Unasked       float64 `json:"unasked"`
	FalseCertain  float64 `json:"false_certain"`
	FalsePossible float64 `json:"false_possible"`
}

// JudgeDefaults are those of the judge in the binary.
func JudgeDefaults() JudgeOptions {
	return JudgeOptions{From: 0.12, Most: 3, Share: 0.7, Message: 0.3, Unasked: -6, FalseCertain: 0.04, FalsePossible: 0.15}
}

// maxLogit bounds the options, against mistakes rather than needs.
const maxLogit = 100

// JudgeRecord says what a choice was made on.
type JudgeRecord struct {
	Options JudgeOptions `json:"options"`
	// Chosen counts the statements.
	Chosen int `json:"chosen"`
	// Digest is of them.
	Digest string `json:"digest"`
}

// JudgeChoice chooses temperature and thresholds for the two models together, on statements that neither was trained on. Options out of
// range are terminal errors.
func JudgeChoice(choose []corpus.Among, o JudgeOptions) (crossencoder.Choice, error) {
	if len(choose) == 0 {
		return crossencoder.Choice{}, fault.Terminal("statements", "are none to choose on, want some")
	}
	if !(o.FalseCertain > 0 && o.FalseCertain <= o.FalsePossible && o.FalsePossible < 1) {
		return crossencoder.Choice{}, fault.Terminal("false-certain",
			"is %v and false-possible %v, want 0 < certain <= possible < 1", o.FalseCertain, o.FalsePossible)
	}
	for name, x := range map[string]float64{"from": o.From, "share": o.Share, "message": o.Message, "unasked": o.Unasked} {
		if !(math.Abs(x) <= maxLogit) {
			return crossencoder.Choice{}, fault.Terminal(name, "is %v, want a number of at most %d", x, maxLogit)
		}
	}
	record, err := json.Marshal(JudgeRecord{Options: o, Chosen: len(choose), Digest: DigestOf(choose)})
	if err != nil {
		return crossencoder.Choice{}, err
	}
	c := crossencoder.Choice{
		Choice: relation.Choice{Temperature: 1, Thresholds: relation.Thresholds{Certain: 1, Possible: 1}},
		From:   o.From, Most: o.Most, Share: o.Share, Message: o.Message, Unasked: o.Unasked, Training: record,
	}
	judge, err := crossencoder.NewJudge(relation.Shipped(), crossencoder.Shipped, c)
	if err != nil {
		return crossencoder.Choice{}, fault.Terminal("options", "%w", err)
	}
	logits := make([][]relation.Logits, len(choose))
	onAll(len(choose), func(i int) { logits[i] = judge.Session().Logits(choose[i].Later, slices.Clone(choose[i].Stored)) })
	c.Temperature = chooseTemperature(logits, choose)
	c.Thresholds = relation.Thresholds{
		Certain:  threshold(logits, choose, c.Temperature, o.FalseCertain, certainty),
		Possible: threshold(logits, choose, c.Temperature, o.FalsePossible, possibility),
	}
	// They are of different probabilities, so that on few statements the certain one can come out below.
	c.Thresholds.Certain = max(c.Thresholds.Certain, c.Thresholds.Possible)
	return c, nil
}
