package salimory

import (
	"context"
	"embed"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

//go:embed prompts/*.tmpl
var prompts embed.FS

// LLM is the strategy by a language model. One call finds the statements worth keeping. A second call decides their
// effect on the bank and on working memory. It is safe for concurrent use.
type LLM struct{ llm.Pair }

var _ formation.Divisible = (*LLM)(nil)

// NewLLM makes the former. A prompt that does not work is an error here, not later.
func NewLLM(client *model.Client, opts llm.Options) (*LLM, error) {
	p, err := llm.NewPair[extraction, decisions](client, Name, prompts, opts,
		llm.PairRole{Role: model.RoleExtractor, Prompt: "salimory-extractor.v6", Schema: "mneme_salimory_extractor"},
		llm.PairRole{Role: model.RoleManager, Prompt: "salimory-manager.v5", Schema: "mneme_salimory_manager"})
	return &LLM{p}, err
}

// extraction is the extractor's answer. An empty list alone could be a failure to answer. The model must therefore
// state that the turns hold nothing worth keeping.
type extraction struct {
	Nothing  bool     `json:"nothing" desc:"true when nothing is worth keeping, and then memories is empty"`
	Memories []routed `json:"memories"`
}

// routed is a statement with its store. The store comes first because the first field guides the model's next fields.
type routed struct {
	Store string `json:"store" enum:"facts|preferences|working" desc:"where it belongs"`
	llm.Statement
}

// Extract asks once for the statements of the session. An empty result requires that the model states it. Every other
// answer without memories is an error. Without turns, Extract makes no call.
func (f *LLM) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	of := func(a extraction) (bool, []routed) { return a.Nothing, a.Memories }
	return llm.Extract(ctx, f.Extractor, in, of, func(r routed) (formation.Candidate, int, error) {
		return r.candidate(in.Turns)
	})
}

func (r routed) candidate(turns []memory.Turn) (formation.Candidate, int, error) {
	c, first, err := r.Statement.Candidate(turns)
	if err != nil {
		return c, first, err
	}
	if (r.Store == "preferences") != (c.Kind == memory.KindPreference) && r.Store != "working" {
		return c, first, structured.Faultf("store is %s, but kind is %s; only a preference goes to preferences", r.Store,
			c.Kind)
	}
	c.Working = r.Store == "working"
	return c, first, nil
}

// decisions is the manager's answer.
type decisions struct {
	Operations []decided `json:"operations" desc:"one for every candidate, in the order they are to be carried out"`
	Retire     []string  `json:"retire,omitempty" desc:"ids of turns of working memory that are stale"`
}

type decided struct {
	structured.Item
	Candidate string   `json:"candidate" desc:"the candidate's id"`
	Relation  string   `json:"relation" enum:"contradicts|same|refines|combines|worthless|new"`
	Op        string   `json:"op" enum:"ADD|UPDATE|MERGE|DELETE|NONE"`
	Targets   []string `json:"targets,omitempty" desc:"ids of the memories acted on"`
	Content   string   `json:"content,omitempty" desc:"the new statement for UPDATE and MERGE, else empty"`
	// What follows is of UPDATE and MERGE alone, but for ends.
	Kind           string   `json:"kind,omitempty" enum:"fact|preference|episodic|semantic|procedural|same" desc:"same keeps it"`
	Slot           string   `json:"slot,omitempty" desc:"of UPDATE and MERGE: empty keeps it, none clears it"`
	EventDate      string   `json:"event_date,omitempty" desc:"likewise; YYYY-MM-DD, YYYY-MM or YYYY"`
	EventPrecision string   `json:"event_precision,omitempty" enum:"day|week|month|year|none"`
	Ends           []string `json:"ends,omitempty" desc:"ids of further memories that hold no longer because of the candidate"`
}

// question is the manager's input.
type question struct {
	*llm.DecisionInput
	// Now is the time of the session's last turn.
	Now     string          `json:"now"`
	Working []llm.ShownTurn `json:"working"`
}

// Decide asks once for the effect of the candidates on the bank. Without candidates for the bank it makes no call.
func (f *LLM) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	lasting, passing := split(in)
	if len(lasting.Related) == 0 {
		return passing.addTo(formation.Verdict{Retire: stale(in.Window, in.Session)}), nil
	}
	input, err := f.Input(lasting)
	if err != nil {
		return formation.Verdict{}, err
	}
	working := slices.DeleteFunc(slices.Clone(in.Window), func(t memory.Turn) bool { return t.SessionID == in.Session.ID })
	q := question{DecisionInput: input, Now: model.ShowTime(in.Session.Turns[len(in.Session.Turns)-1].Time),
		Working: llm.ShowAs("w", working)}
	return llm.Ask(ctx, f.Manager, in.Session.Scope, q, len(lasting.Related),
		func(a decisions) (formation.Verdict, error) {
			w := llm.NewWriter(input, llm.Identity{Strategy: Name, PolicyVersion: f.Version()})
			var verdict formation.Verdict
			for _, d := range a.list() {
				verdict.Operations = append(verdict.Operations, w.Take(d)...)
			}
			retired, err := turnsOf(a.Retire, working)
			if err != nil {
				w.RefuseBeside(err)
			}
			verdict.Retire = append(retired, stale(working, in.Session)...)
			verdict.Failed, err = w.End()
			return passing.addTo(verdict), err
		})
}

func (a decisions) list() []llm.Decision {
	out := make([]llm.Decision, len(a.Operations))
	for i, d := range a.Operations {
		out[i] = llm.Decision{
			Candidate: d.Candidate, Reason: d.Relation, Op: memory.OpKind(d.Op), Targets: d.Targets, Content: d.Content,
			Ends: d.Ends,
			Slot: d.Slot, EventDate: d.EventDate, EventPrecision: d.EventPrecision, Item: d.Item,
		}
		if d.Kind != "same" {
			out[i].Kind = memory.Kind(d.Kind)
		}
	}
	return out
}

// turnsOf returns the ids for aliases of working memory's turns. The error names unknown aliases; the ids of the known
// ones come with it.
func turnsOf(aliases []string, working []memory.Turn) ([]string, error) {
	known := make(map[string]string, len(working))
	for i, t := range working {
		known[llm.Alias("w", i)] = t.ID
	}
	var out, wrong []string
	for _, a := range aliases {
		if id, ok := known[a]; ok {
			out = append(out, id)
		} else {
			wrong = append(wrong, structured.Alias(a))
		}
	}
	if len(wrong) > 0 {
		return out, structured.Faultf("retire names %s, which is not a turn of working memory", strings.Join(wrong, ", "))
	}
	return out, nil
}
