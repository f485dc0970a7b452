package llm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
	"github.com/mneme-memory/mneme/shared/recall"
)

// Profiler writes profiles by a model. It is safe for concurrent use.
type Profiler struct {
	role   role
	schema structured.Schema
	budget int
}

var _ recall.Profiler = (*Profiler)(nil)

// profileAnswer is the profiler's answer.
type profileAnswer struct {
	Nothing  bool            `json:"nothing" desc:"true when nothing bears on the question, and then sections is empty"`
	Sections []answerSection `json:"sections"`
}

type answerSection struct {
	Name  string       `json:"name" enum:"core|constraints|preferences|facts|recent|timeline|talk"`
	Lines []answerLine `json:"lines"`
}

type answerLine struct {
	Text  string `json:"text" desc:"one statement, without bracketed numbers"`
	Cites []int  `json:"cites" desc:"numbers n of the memories it rests on"`
}

// evidence is the model's input.
type evidence struct {
	Conversation []shownMessage `json:"conversation,omitempty"`
	Question     string         `json:"question"`
	Now          string         `json:"now"`
	Core         string         `json:"core,omitempty"`
	Memories     []shownMemory  `json:"memories"`
	Recent       []shownTurn    `json:"recent"`
}

type shownMemory struct {
	N       int    `json:"n"`
	Kind    string `json:"kind"`
	Tier    string `json:"tier,omitempty"`
	Content string `json:"content"`
	Speaker string `json:"speaker,omitempty"`
	Said    string `json:"said"`
	When    string `json:"when,omitempty"`
	Status  string `json:"status"`
	// Until is the end of a memory that no longer holds.
	Until string `json:"until,omitempty"`
	// Dialogue has the original words, without lines that are behind an earlier memory. Also has the numbers of these.
	Dialogue string `json:"dialogue,omitempty"`
	Also     []int  `json:"also,omitempty"`
}

type shownTurn struct {
	Time    string `json:"time"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Picture string `json:"picture,omitempty"`
}

// NewProfiler makes a profiler. A prompt that does not work is an error here, not later.
func NewProfiler(client *model.Client, opts Options) (*Profiler, error) {
	r, err := newRole(client, model.RoleUtilizer, "utilizer.v7", opts)
	if err != nil {
		return nil, fmt.Errorf("llm utilizer: %w", err)
	}
	return &Profiler{role: r, schema: structured.SchemaOf[profileAnswer]("mneme_utilizer"), budget: opts.WordBudget}, nil
}

// Version is prompt version and model.
func (p *Profiler) Version() string { return p.role.version() }

// recentAge is the largest age of a recent turn, by the clock of the question.
const recentAge = 7 * 24 * time.Hour

// Profile calls the model once. Without evidence the profile is empty and there is no call. If the model finds
// nothing relevant, the profile has only the standing lines. The model sees the standing memories, and the current
// versions of earlier ones, too. Each standing memory has its own line if no other line cites it.
func (p *Profiler) Profile(ctx context.Context, scope memory.Scope, e recall.Evidence) (recall.Profile, error) {
	budget := e.WordBudget
	if budget <= 0 {
		budget = p.budget
	}
	written := e.Core.Content != "" && len(e.Core.Lines) == 0
	e.Window = slices.DeleteFunc(slices.Clone(e.Window), func(t memory.Turn) bool {
		return e.Query.Now.Sub(t.Time) > recentAge
	})
	found := len(e.Memories)
	beside := slices.Clone(e.Current)
	for _, s := range e.Standing() {
		beside = append(beside, s.Memory)
	}
	for _, b := range beside {
		if !slices.ContainsFunc(e.Memories, func(m memory.Memory) bool { return m.ID == b.ID }) {
			e.Memories = append(slices.Clip(e.Memories), b)
		}
	}
	if found == 0 && len(e.Window) == 0 && !written {
		return assemble(standing(e, nil, budget), e.Memories, budget), nil
	}
	req, err := p.role.request(scope, show(e), params{WordBudget: budget})
	if err != nil {
		return recall.Profile{}, err
	}
	req.Schema = &p.schema
	return model.AskJSON(ctx, p.role.client, req, func(a profileAnswer) (recall.Profile, error) {
		lines, err := a.check(e.Memories, map[string]bool{recent: len(e.Window) > 0, core: written})
		if err != nil {
			return recall.Profile{}, err
		}
		out := assemble(withStanding(e, lines, budget), e.Memories, budget)
		out.Unrelated = a.Nothing
		return out, nil
	})
}

// withStanding returns the model's lines that fit into the budget, after the standing lines without a citation
// elsewhere. Standing lines have their own share of the words. In the rest, the lines that cite them come before
// others.
func withStanding(e recall.Evidence, lines []line, budget int) []line {
	stands := func(at int) bool {
		return slices.ContainsFunc(e.Standing(), func(s recall.Standing) bool { return s.Memory.ID == e.Memories[at].ID })
	}
	kept := make([]bool, len(lines))
	take := func(left int, telling bool) (words int) {
		for i, l := range lines {
			if n := l.words(); slices.ContainsFunc(l.cites, stands) == telling && words+n <= left {
				words += n
				kept[i] = true
			}
		}
		return words
	}
	some := func() (out []line) {
		for i, l := range lines {
			if kept[i] {
				out = append(out, l)
			}
		}
		return out
	}
	left := budget - take(budget-budget/coreShare, true)
	own := standing(e, some(), budget)
	for _, l := range own {
		left -= l.words()
	}
	take(left, false)
	if out := append(own, some()...); len(out) > 0 {
		return out
	}
	return lines // of which one is cut
}

// coreShare is the part of the budget that lines which stand may take: one in so many words.
const coreShare = 3

// standing returns the standing lines of every profile, unchanged, except for memories that another line cites.
func standing(e recall.Evidence, others []line, budget int) []line {
	var out []line
	left := budget / coreShare
	for _, s := range e.Standing() {
		at := slices.IndexFunc(e.Memories, func(m memory.Memory) bool { return m.ID == s.Memory.ID })
		l := line{section: core, text: recall.Escaped(s.Text), cites: []int{at}}
		if s.Memory.Speaker != "" {
			l.text = recall.Quotation(s.Memory.Speaker, s.Memory.ValidFrom.UTC().Format("2006-01"), s.Text)
		}
		if !slices.ContainsFunc(others, func(o line) bool { return slices.Contains(o.cites, at) }) && l.words() <= left {
			left -= l.words()
			out = append(out, l)
		}
	}
	return out
}

// linesOf returns the lines of a dialogue.
func linesOf(dialogue string) []string {
	return slices.DeleteFunc(strings.Split(dialogue, "\n"), func(line string) bool {
		return strings.TrimSpace(line) == ""
	})
}

// show is the evidence as the model reads it.
func show(e recall.Evidence) evidence {
	out := evidence{
		Conversation: showMessages(e.Query.Messages), Question: e.Query.Text, Now: model.ShowTime(e.Query.Now),
		Memories: []shownMemory{}, Recent: []shownTurn{},
	}
	if len(e.Core.Lines) == 0 {
		out.Core = e.Core.Content // the others are among the memories
	}
	first := map[string]int{} // by line of dialogue: the number of its memory
	for i, m := range e.Memories {
		shown := shownMemory{
			N: i + 1, Kind: string(m.Kind), Tier: string(m.Tier), Content: m.Content, Speaker: m.Speaker,
			Said: model.ShowTime(m.ValidFrom),
			When: model.ShowEvent(m.EventTime), Status: string(m.Status), Until: model.ShowTime(m.ValidTo),
		}
		var lines []string
		for _, line := range linesOf(m.Value) {
			if first[line] == 0 {
				lines, first[line] = append(lines, line), i+1
			} else if first[line] != i+1 && !slices.Contains(shown.Also, first[line]) {
				shown.Also = append(shown.Also, first[line])
			}
		}
		shown.Dialogue = strings.Join(lines, "\n")
		out.Memories = append(out.Memories, shown)
	}
	for _, t := range e.Window {
		out.Recent = append(out.Recent, shownTurn{
			Time: model.ShowTime(t.Time), Speaker: t.Speaker, Text: t.Text, Picture: t.Caption,
		})
	}
	return out
}
