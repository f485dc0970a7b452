// Package llm uses memory by a language model. The profiler writes the query-adapted profile. The generator answers
// from it. Each needs one call, and one more for a repair. Neither can cite a memory outside its input.
package llm

import (
	"embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// sectionOrder is the order of a profile's sections. Binding sections come first, so the word budget cuts the most
// important ones last.
var sectionOrder = [...]string{core, constraints, preferences, "facts", recent, "timeline", "talk"}

// The sections that only memories may shape, and no talk.
const (
	constraints = "constraints"
	preferences = "preferences"
)

// The sections with lines that need no memory.
const (
	core   = "core"
	recent = "recent"
)

// line is a checked line; cites are positions of memories.
type line struct {
	section string
	text    string
	cites   []int
}

// marks match text that looks like a citation. In a line's text, a reader would take it for one.
var marks = regexp.MustCompile(`(?i)\s*\[\s*(\d[\d\s,;]*|NO_CITE)\s*\]`)

// check checks an answer against the evidence and returns its lines in order of the sections. uncited are the
// sections that may have lines without a memory, because their own evidence is there.
func (a profileAnswer) check(memories []memory.Memory, uncited map[string]bool) ([]line, error) {
	var out []line
	for _, name := range sectionOrder {
		for _, s := range a.Sections {
			if s.Name != name {
				continue
			}
			for _, l := range s.Lines {
				checked, err := l.check(name, memories, uncited)
				if err != nil {
					return nil, err
				}
				out = append(out, checked)
			}
		}
	}
	switch {
	case a.Nothing && len(out) > 0:
		return nil, structured.Faultf("\"nothing\" is true, yet there are lines")
	case !a.Nothing && len(out) == 0:
		return nil, structured.Faultf("there are no lines; if nothing bears on the question, set \"nothing\" to true")
	}
	return out, nil
}

func (l answerLine) check(section string, memories []memory.Memory, uncited map[string]bool) (line, error) {
	text := recall.Untagged(strings.Join(strings.Fields(marks.ReplaceAllString(l.Text, "")), " "))
	if text == "" {
		return line{}, structured.Faultf("a line of %s has no text", section)
	}
	if len(l.Cites) == 0 && !uncited[section] {
		return line{}, structured.Faultf("a line of %s cites no memory", section)
	}
	out := line{section: section, text: text}
	for _, n := range l.Cites {
		if n < 1 || n > len(memories) {
			return line{}, structured.Faultf("a line of %s cites %d; memories are numbered 1 to %d", section, n, len(memories))
		}
		if memories[n-1].Tier == memory.TierTalk && slices.Contains([]string{core, constraints, preferences}, section) {
			return line{}, structured.Faultf("a line of %s cites %d, which is talk; want facts, timeline or talk", section, n)
		}
		if !slices.Contains(out.cites, n-1) {
			out.cites = append(out.cites, n-1)
		}
	}
	return out, nil
}

// assemble keeps the lines that fit the budget, in their order. When not even one does, the first is cut: a
// short hint is better than none.
func assemble(lines []line, memories []memory.Memory, budget int) recall.Profile {
	b := builder{memories: memories, numbers: map[int]int{}}
	left := budget
	for _, l := range lines {
		if cost := l.words(); cost <= left {
			left -= cost
			b.add(l)
		}
	}
	if len(b.profile.Sections) == 0 && len(lines) > 0 {
		if cut := lines[0].cut(budget); cut.text != "" {
			b.add(cut)
		}
	}
	return b.profile
}

// words counts the citations as one word, since they stand behind one space.
func (l line) words() int { return text.CountWords(l.text) + min(1, len(l.cites)) }

// cut shortens the text to a budget of words.
func (l line) cut(budget int) line {
	words := text.Pieces(l.text)
	l.text = strings.Join(words[:max(0, min(len(words), budget-min(1, len(l.cites))))], "")
	return l
}

// builder collects lines and numbers the memories they cite in order of appearance.
type builder struct {
	profile  recall.Profile
	memories []memory.Memory
	numbers  map[int]int // position of a memory -> its citation
}

func (b *builder) add(l line) {
	text := l.text
	for i, at := range l.cites {
		if b.numbers[at] == 0 {
			b.profile.Cited = append(b.profile.Cited, b.memories[at])
			b.numbers[at] = len(b.profile.Cited)
		}
		if i == 0 {
			text += " "
		}
		text += "[" + strconv.Itoa(b.numbers[at]) + "]"
	}
	last := len(b.profile.Sections) - 1
	if last < 0 || b.profile.Sections[last].Name != l.section {
		b.profile.Sections = append(b.profile.Sections, recall.Section{Name: l.section})
		last++
	}
	b.profile.Sections[last].Lines = append(b.profile.Sections[last].Lines, text)
}

//go:embed prompts/*.tmpl
var builtin embed.FS

// Options are the settings of profiler and generator.
type Options struct {
	// PromptDir holds files that take the place of built-in prompts of the same name; empty for none.
	PromptDir string `env:"PROMPT_DIR" desc:"directory of prompt files that replace built-in ones of the same name"`
	// WordBudget is how many words a profile may have where the evidence names no budget.
	WordBudget int `envDefault:"200"`
}

// DefaultOptions returns the settings that apply where nothing is set.
func DefaultOptions() Options { return Options{WordBudget: 200} }

// Validate reports every setting that is out of range.
func (o Options) Validate() error {
	if o.WordBudget < 10 {
		return errors.New("WORD_BUDGET: want 10 or more")
	}
	return nil
}

// params are the .Params of the prompts' templates.
type params struct{ WordBudget int }

// shownMessage is a message of the running conversation as a model sees it.
type shownMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func showMessages(messages []memory.Message) []shownMessage {
	var out []shownMessage
	for _, m := range messages {
		out = append(out, shownMessage{string(m.Role), m.Content})
	}
	return out
}

type role struct {
	client *model.Client
	name   model.Role
	prompt model.Prompt
}

func newRole(client *model.Client, name model.Role, file string, opts Options) (role, error) {
	if err := opts.Validate(); err != nil {
		return role{}, err
	}
	if client.ModelFor(name) == "" {
		return role{}, fmt.Errorf("no model is configured for role %s", name)
	}
	prompt, err := model.LoadPrompt(builtin, opts.PromptDir, "prompts/"+file+".tmpl", params{WordBudget: 200})
	return role{client: client, name: name, prompt: prompt}, err
}

func (r role) request(scope memory.Scope, data any, p params) (model.Request, error) {
	system, user, err := r.prompt.Render(data, p)
	if err != nil {
		return model.Request{}, fmt.Errorf("prompt %s: %w", r.prompt.Version, err)
	}
	return model.Request{Role: r.name, Scope: scope, Prompt: r.prompt.Version, System: system, User: user}, nil
}

// version is prompt version and model.
func (r role) version() string { return "llm/" + r.prompt.Version + "/" + r.client.ModelFor(r.name) }
