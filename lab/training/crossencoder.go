package training

import (
	"context"
	"encoding/json"
	"errors"
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

// statementLine is a statement in the input format of the cross-encoder's train.py.
type statementLine struct {
	Later  string   `json:"later"`
	Stored []string `json:"stored"`
	Of     int      `json:"of"`
	Does   string   `json:"does"`
	Part   string   `json:"part"`
	// Facts are the facts of the stored statement Of, where it may tell several.
	Facts []string `json:"facts,omitempty"`
	// Change has for each stored statement the larger of the model's two logits of a change.
	Change []float64 `json:"change"`
	MadeUp bool      `json:"made_up"`
}

// StatementDefaults are the options of the cross-encoder's training statements. They have more made-up people than
// the options of the linear model.
func StatementDefaults() RelationOptions {
	o := RelationDefaults()
	o.Lives = 60
	return o
}

// SmallTalk returns the small talk in the friends' chats of a split.
func SmallTalk(s corpus.Split) ([]string, error) {
	chats, err := corpus.Chats(s)
	var out []string
	for _, c := range chats {
		out = append(out, c.SmallTalk()...)
	}
	return out, err
}

// WriteStatements writes the training data of the cross-encoder, one JSON object a line. It has the statements with
// the linear model's logits. It also has small talk, as statements with nothing stored.
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

// JudgeOptions combine the linear model of relations with the cross-encoder, and set the targets of the thresholds.
type JudgeOptions struct {
	From    float64 `json:"from" range:"[-100,100]" use:"the probability of any change by a message from which the cross-encoder is asked"`
	Most    int     `json:"most" range:"[1,]" use:"how many stored statements it is asked about"`
	Share   float64 `json:"share" range:"[-100,100]" use:"weight of the cross-encoder's logits"`
	Message float64 `json:"message" range:"[-100,100]" use:"weight of the logit of the message alone"`
	Unasked float64 `json:"unasked" range:"[-100,100]"`
	falseChanges
}

// JudgeDefaults are the options of the judge in the binary.
func JudgeDefaults() JudgeOptions {
	return JudgeOptions{From: 0.12, Most: 3, Share: 0.7, Message: 0.3, Unasked: -6, falseChanges: falseChanges{0.04, 0.15}}
}

// JudgeRecord describes the data of a choice.
type JudgeRecord struct {
	Options JudgeOptions `json:"options"`
	// Chosen counts the statements.
	Chosen int `json:"chosen"`
	// Digest is the digest of the statements.
	Digest string `json:"digest"`
}

// trainJudge makes the choice on the statements of the corpus.
func trainJudge(ctx context.Context, o JudgeOptions) (Made, error) {
	choose, err := Statements(ctx, corpus.Choose, RelationDefaults())
	if err != nil {
		return Made{}, err
	}
	choice, err := JudgeChoice(choose, o)
	if err != nil {
		return Made{}, err
	}
	file, err := json.MarshalIndent(choice, "", "  ")
	return Made{append(file, '\n'), choice, float64(choice.Thresholds.Certain)}, err
}

// JudgeChoice chooses the temperature and the thresholds for the two models together, on statements outside the
// training data of both. Options out of range are terminal errors.
func JudgeChoice(choose []corpus.Among, o JudgeOptions) (crossencoder.Choice, error) {
	if len(choose) == 0 {
		return crossencoder.Choice{}, fault.Terminal("statements", "are none to choose on, want some")
	}
	if err := errors.Join(check(o), o.falseChanges.check()); err != nil {
		return crossencoder.Choice{}, err
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
	// The two thresholds are for different probabilities. On few statements the certain one can be the lower one.
	c.Thresholds.Certain = max(c.Thresholds.Certain, c.Thresholds.Possible)
	return c, nil
}
