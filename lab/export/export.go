// Package export writes recorded calls of models as data sets for trainers of large models: conversational JSON lines
// for TRL, Parquet for veRL. The records no longer have the calls of erased users, so neither has a data set.
package export

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/store/records"
)

// Format names the trainer that reads a data set.
type Format string

// The formats.
const (
	TRL  Format = "trl"
	VeRL Format = "verl"
)

// Formats returns all formats.
func Formats() []Format { return []Format{TRL, VeRL} }

// Manifest describes a data set.
type Manifest struct {
	Format    Format         `json:"format"`
	CreatedAt time.Time      `json:"created_at"`
	Records   int            `json:"records"`
	Users     int            `json:"users"`
	Files     map[string]int `json:"files"` // rows by name
	// Prompts and Models are the versions in the records. Roles counts the records of each role.
	Prompts []string         `json:"prompts"`
	Models  []string         `json:"models"`
	Roles   map[llm.Role]int `json:"roles"`
}

// message is one message of a conversation.
type message struct {
	Role    string `json:"role" parquet:"role"`
	Content string `json:"content" parquet:"content"`
}

// sft is a conversation for supervised training.
type sft struct {
	Messages []message `json:"messages"`
	Role     llm.Role  `json:"memory_role"`
}

// prompt is a question with the known worth of its answer.
type prompt struct {
	Prompt   []message    `json:"prompt"`
	Role     llm.Role     `json:"memory_role"`
	Strategy string       `json:"strategy,omitempty"`
	Version  string       `json:"prompt_version"`
	Answer   string       `json:"answer"`
	Valid    llm.Validity `json:"valid"`
	worth
}

// worth counts the later fates of the memories that an answer touched.
type worth struct {
	Recalled   int64 `json:"recalled" parquet:"recalled"`
	Cited      int64 `json:"cited" parquet:"cited"`
	Reported   int64 `json:"reported" parquet:"reported"`
	Superseded int64 `json:"superseded" parquet:"superseded"`
}

// preference is an accepted and a rejected answer to the same question.
type preference struct {
	Prompt   []message `json:"prompt"`
	Chosen   []message `json:"chosen"`
	Rejected []message `json:"rejected"`
	Role     llm.Role  `json:"memory_role"`
}

// row is a row in veRL's format: data_source, prompt, ability, reward_model, extra_info.
type row struct {
	DataSource  string      `parquet:"data_source"`
	Prompt      []message   `parquet:"prompt,list"`
	Ability     string      `parquet:"ability"`
	RewardModel rewardModel `parquet:"reward_model"`
	ExtraInfo   extraInfo   `parquet:"extra_info"`
}

type rewardModel struct {
	Style       string `parquet:"style"`
	GroundTruth string `parquet:"ground_truth"`
}

type extraInfo struct {
	Index         int64  `parquet:"index"`
	Role          string `parquet:"memory_role"`
	Strategy      string `parquet:"strategy"`
	PromptVersion string `parquet:"prompt_version"`
	Valid         string `parquet:"valid"`
	worth
}

// recordedSource begins the data source, by which veRL chooses a reward. Rows of a trainer's episodes have
// mneme/REWARD. Recorded calls have no state from which a reward could score an answer.
const recordedSource = "mneme-recorded/"

// Write writes calls as data sets into a folder, which must not exist. It returns their manifest. After an error, the
// folder does not exist. An empty list of calls is a terminal error.
func Write(dir string, format Format, calls iter.Seq2[records.Call, error], now time.Time) (Manifest, error) {
	if !slices.Contains(Formats(), format) {
		return Manifest{}, fault.Terminal("format", "is %q, want one of %q", format, Formats())
	}
	dir = filepath.Clean(dir)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return Manifest{}, fault.Terminal("out", "%s is there already, want a folder that is not", dir)
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".part-")
	if err != nil {
		return Manifest{}, err
	}
	defer os.RemoveAll(part) // empty after the rename
	w := writer{dir: part, manifest: Manifest{Format: format, CreatedAt: now.UTC(), Files: map[string]int{},
		Roles: map[llm.Role]int{}}}
	if err := w.all(calls); err != nil {
		return Manifest{}, err
	}
	data, err := json.MarshalIndent(w.manifest, "", "  ")
	if err != nil {
		return Manifest{}, err
	}
	if err := os.WriteFile(filepath.Join(part, "manifest.json"), append(data, '\n'), 0o600); err != nil {
		return Manifest{}, err
	}
	return w.manifest, os.Rename(part, dir)
}

type writer struct {
	dir      string
	manifest Manifest
	lines    map[string]*lines
	rows     []row
}

// lines is a file of JSON lines.
type lines struct {
	file *os.File
	out  *bufio.Writer
}

func (w *writer) all(calls iter.Seq2[records.Call, error]) (err error) {
	w.lines = map[string]*lines{}
	defer func() {
		for _, l := range w.lines {
			err = errors.Join(err, l.out.Flush(), l.file.Close())
		}
	}()
	users := map[string]bool{}
	for c, err := range calls {
		if err != nil {
			return err
		}
		if len(c.Messages) < 2 { // the call has no question
			continue
		}
		users[c.Scope.Key()] = true
		w.manifest.Records++
		w.manifest.Roles[c.Role]++
		note(&w.manifest.Prompts, c.Prompt)
		note(&w.manifest.Models, c.Model)
		if err := w.call(c); err != nil {
			return err
		}
	}
	if w.manifest.Records == 0 {
		return fault.Terminal("calls", "are none: nothing is recorded of that tenant and role while MNEME_LLM_RECORD is off")
	}
	w.manifest.Users = len(users)
	if w.manifest.Format == VeRL {
		w.manifest.Files["train.parquet"] = len(w.rows)
		file := filepath.Join(w.dir, "train.parquet")
		return errors.Join(parquet.WriteFile(file, w.rows), os.Chmod(file, 0o600))
	}
	return nil
}

func note(list *[]string, s string) {
	if !slices.Contains(*list, s) {
		*list = append(*list, s)
		slices.Sort(*list)
	}
}

// call writes the training data of a call: the accepted answer as a conversation, and the question with its worth.
// For a repaired answer, it also writes a preference of the second over the first.
func (w *writer) call(c records.Call) error {
	question := messages(c.Messages[:2])
	answers := slices.DeleteFunc(slices.Clone(c.Messages), func(m llm.Message) bool { return m.Role != "assistant" })
	accepted, right := "", c.Valid == llm.ValidFirst || c.Valid == llm.ValidRepaired
	// of a partly right answer, either version may be the counted one; neither is training data
	if right && len(answers) > 0 {
		accepted = answers[len(answers)-1].Content
	}
	var of worth
	for _, id := range c.Memories {
		o := c.Outcomes[id]
		of.Recalled, of.Cited, of.Reported = of.Recalled+o.Recalled, of.Cited+o.Cited, of.Reported+o.Reported
		if o.Superseded {
			of.Superseded++
		}
	}
	if w.manifest.Format == VeRL {
		w.rows = append(w.rows, row{
			DataSource: recordedSource + string(c.Role), Prompt: question, Ability: "memory",
			RewardModel: rewardModel{"rule", accepted},
			ExtraInfo: extraInfo{Index: int64(len(w.rows)), Role: string(c.Role), Strategy: c.Strategy, PromptVersion: c.Prompt,
				Valid: string(c.Valid), worth: of},
		})
		return nil
	}
	err := w.line("prompts.jsonl", prompt{question, c.Role, c.Strategy, c.Prompt, accepted, c.Valid, of})
	if err == nil && right {
		err = w.line("sft.jsonl", sft{append(slices.Clone(question), message{"assistant", accepted}), c.Role})
	}
	if err == nil && c.Valid == llm.ValidRepaired && len(answers) > 1 {
		err = w.line("preference.jsonl", preference{
			question, []message{{"assistant", accepted}}, []message{{"assistant", answers[0].Content}}, c.Role,
		})
	}
	return err
}

func messages(list []llm.Message) []message {
	out := make([]message, len(list))
	for i, m := range list {
		out[i] = message{m.Role, m.Content}
	}
	return out
}

// line writes a line to a file. The first line creates the file.
func (w *writer) line(name string, v any) error {
	l := w.lines[name]
	if l == nil {
		file, err := os.OpenFile(filepath.Join(w.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		l = &lines{file, bufio.NewWriter(file)}
		w.lines[name] = l
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a line of %s: %w", name, err)
	}
	w.manifest.Files[name]++
	_, err = l.out.Write(append(data, '\n'))
	return err
}
