package training

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/learning"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/reward"
)

// PolicyOptions are how a policy of decisions is trained by what its decisions lead to.
type PolicyOptions struct {
	// Seed chooses people, draws and start.
	Seed uint64
	// Persons is how many made-up people there are to learn from, Sessions how many sessions each has.
	Persons, Sessions int
	// Group is how many times each session is drawn from the same state.
	Group int
	// Hidden is the width of the heads' layer; 0 for none.
	Hidden int
	// Weak starts from a policy that keeps too few turns and replaces too little, and not from the shipped models.
	Weak bool
	// Reward is what a session's decisions are worth.
	Reward reward.TransitionOptions
	Update learning.UpdateOptions
	// Progress is told of each person; nil for nobody.
	Progress io.Writer
}

// PolicyDefaults returns settings that take some minutes on two cores.
func PolicyDefaults() PolicyOptions {
	o := PolicyOptions{Seed: 1, Persons: 16, Sessions: 12, Group: 8, Reward: reward.TransitionDefaults(), Update: learning.UpdateDefaults()}
	o.Reward.Tau = TauOfQuotations
	return o
}

// TauOfQuotations is the least similarity of a quotation and the statement that says the same, by the built-in embedding: see Calibrate.
const TauOfQuotations = 0.35

// Validate reports a setting that is out of range.
func (o PolicyOptions) Validate() error {
	switch {
	case o.Persons < 1 || o.Persons > 10_000:
		return fault.Terminal("persons", "are %d, want 1 to 10000", o.Persons)
	case o.Sessions < 1 || o.Sessions > 200:
		return fault.Terminal("sessions", "are %d, want 1 to 200", o.Sessions)
	case o.Group < 2 || o.Group > 256:
		return fault.Terminal("group", "is %d, want 2 to 256", o.Group)
	}
	if err := o.Reward.Validate(); err != nil {
		return err
	}
	return o.Update.Validate()
}

// PolicyRecord says how a training went.
type PolicyRecord struct {
	Sessions int `json:"sessions"`
	// Groups is how many groups of draws there were, SameReward the share of them whose rewards were all the same: nothing is learned of
	// those.
	Groups     int     `json:"groups"`
	SameReward float64 `json:"same_reward"`
	// Rewards is the mean reward of the draws of each person, in order.
	Rewards []float64 `json:"rewards"`
}

// Policy trains heads for the decisions of the embedded salimory strategy by DeltaMem's reward of the state's transition (3.3): each
// session of made-up lives is drawn Group times from the same state, what each draw remembers is held against what the session should
// have led to, and better draws are made likelier. The life goes on by the policy's own best decisions. The same options give the same
// policy on any number of cores.
func Policy(ctx context.Context, o PolicyOptions) (*decision.Policy, PolicyRecord, error) {
	if err := o.Validate(); err != nil {
		return nil, PolicyRecord{}, err
	}
	people, err := synthesis.Generate(synthesis.Options{Seed: o.Seed, Persons: o.Persons, Sessions: o.Sessions, Clean: true})
	if err != nil {
		return nil, PolicyRecord{}, err
	}
	t := policyTraining{
		o: o, embedder: embedding.Cached(builtin.New(), 50_000), policy: StartPolicy(o), reference: StartPolicy(o),
		adams: map[decision.Role]*learning.Adam{},
	}
	for r := range t.policy.Heads {
		t.adams[r] = &learning.Adam{}
	}
	same := 0
	for i, p := range people {
		mean, equal, err := t.learnFrom(ctx, p, uint64(i))
		if err != nil {
			return nil, PolicyRecord{}, fmt.Errorf("person %d: %w", i+1, err)
		}
		t.record.Sessions += len(p.Sessions)
		t.record.Groups += len(p.Sessions)
		same += equal
		t.record.Rewards = append(t.record.Rewards, mean)
		if o.Progress != nil {
			fmt.Fprintf(o.Progress, "\rperson %d of %d, mean reward %.3f ", i+1, len(people), mean)
		}
	}
	if o.Progress != nil {
		fmt.Fprintln(o.Progress)
	}
	t.record.SameReward = float64(same) / float64(max(1, t.record.Groups))
	return t.policy, t.record, nil
}

// StartPolicy is what a training starts from.
func StartPolicy(o PolicyOptions) *decision.Policy {
	p := &decision.Policy{Version: "salimory-embedded/trained-transition", Heads: map[decision.Role]learning.Head{}}
	for i, r := range decision.Roles() {
		p.Heads[r] = learning.NewHead(len(decision.Features(r)), o.Hidden, rand.New(rand.NewPCG(o.Seed, uint64(i))))
	}
	if o.Weak && o.Hidden == 0 {
		p.Heads[decision.Filter].Weights[slices.Index(decision.Features(decision.Filter), "keep")] = -3
		p.Heads[decision.Change].Weights[slices.Index(decision.Features(decision.Change), "replace")] = -3
	}
	return p
}

type policyTraining struct {
	o         PolicyOptions
	embedder  embedding.Embedder
	policy    *decision.Policy
	reference *decision.Policy
	adams     map[decision.Role]*learning.Adam
	record    PolicyRecord
}

// Decided is a pipeline whose decisions a chooser makes.
func Decided(choose decision.Chooser, version string, e embedding.Embedder) formation.Pipeline {
	return formation.Pipeline{
		Filter: saliency.NewTrained().Deciding(choose, version), Saliency: memory.SaliencyGate,
		Former: salimory.NewEmbedded().Deciding(choose, version), Strategy: salimory.Name, Embedder: e,
	}
}

// learnFrom goes through a life, and updates the policy by it.
func (t *policyTraining) learnFrom(ctx context.Context, p synthesis.Person, number uint64) (mean float64, same int, err error) {
	subject := p.Subject("training")
	life, err := Decided(t.policy, t.policy.Version, t.embedder).Begin(subject)
	if err != nil {
		return 0, 0, err
	}
	truth := truthOf{person: p, subject: subject, embedder: t.embedder}
	batches := map[decision.Role]*learning.Batch{}
	for session := range p.Sessions {
		before, err := truth.made(ctx, life)
		if err != nil {
			return 0, 0, err
		}
		wanted, err := truth.wanted(ctx, session)
		if err != nil {
			return 0, 0, err
		}
		o := t.o.Reward
		o.Said = truth.said(session)
		rewards, taken := make([]float64, t.o.Group), make([]map[decision.Role][]learning.Choice, t.o.Group)
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(runtime.NumCPU())
		for i := range rewards {
			g.Go(func() error {
				s := decision.NewSampler(t.policy, rand.New(rand.NewPCG(t.o.Seed, number<<32|uint64(session)<<16|uint64(i))))
				drawn := Decided(s, t.policy.Version, t.embedder)
				fork, err := life.Fork(drawn.Filter, drawn.Former)
				if err != nil {
					return err
				}
				if err := fork.Step(gctx); err != nil {
					return err
				}
				made, err := truth.made(gctx, fork)
				if err != nil {
					return err
				}
				rewards[i] = reward.StateTransition(before, made, wanted, o).Reward(true, true, o)
				taken[i] = s.Taken()
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return 0, 0, err
		}
		advantages, varied := learning.Advantages(rewards)
		if !varied {
			same++
		}
		for i, a := range advantages {
			mean += rewards[i] / float64(t.o.Group*len(p.Sessions))
			if a == 0 {
				continue
			}
			t.credit(batches, taken[i], a)
		}
		if err := life.Step(ctx); err != nil {
			return 0, 0, err
		}
	}
	for _, r := range decision.Roles() {
		if b := batches[r]; b != nil {
			h := t.policy.Heads[r].Clone()
			learning.Update(&h, t.adams[r], *b, t.o.Update)
			t.policy.Heads[r] = h
		}
	}
	return mean, same, nil
}

// credit puts what was drawn into the batches, with what it was worth.
func (t *policyTraining) credit(batches map[decision.Role]*learning.Batch, taken map[decision.Role][]learning.Choice, advantage float64) {
	for r, choices := range taken {
		if batches[r] == nil {
			batches[r] = &learning.Batch{}
		}
		for _, c := range choices {
			batches[r].Credits = append(batches[r].Credits, learning.Credit{
				Choice: c, Advantage: advantage, Reference: t.reference.Heads[r].LogProbabilities(c.Options),
			})
		}
	}
}

// truthOf knows what a made-up person's sessions should lead to.
type truthOf struct {
	person   synthesis.Person
	subject  dataset.Subject
	embedder embedding.Embedder
}

// said is what the turns up to a session's end say.
func (t truthOf) said(session int) string {
	var out strings.Builder
	for _, s := range t.person.Sessions[:session+1] {
		for _, turn := range s.Turns {
			out.WriteString(turn.Text + "\n")
		}
	}
	return out.String()
}

// wanted is what should be remembered when a session is over.
func (t truthOf) wanted(ctx context.Context, session int) ([]reward.Entry, error) {
	gone := map[int]bool{}
	for _, target := range t.person.Targets {
		ends := target.Operation == memory.OpUpdate || target.Operation == memory.OpMerge || target.Operation == memory.OpDelete
		if target.Session <= session && ends && target.Evolution != synthesis.EvolutionExpand && target.Predecessor >= 0 {
			gone[target.Predecessor] = true
		}
	}
	var out []reward.Entry
	for i, target := range t.person.Targets {
		if target.Session > session || gone[i] || target.Operation == memory.OpDelete || target.Operation == memory.OpNone {
			continue
		}
		out = append(out, reward.Entry{Text: target.Statement, Keywords: target.Keywords})
	}
	return out, t.embed(ctx, out)
}

// made is what a life remembers: the active entries, with the statements of what each replaced.
func (t truthOf) made(ctx context.Context, l *formation.Life) ([]reward.Entry, error) {
	formed, err := l.Formed(ctx)
	if err != nil {
		return nil, err
	}
	stated := map[string][]string{} // statements by turn
	for _, target := range t.person.Targets {
		for _, turn := range target.Turns {
			stated[turn] = append(stated[turn], target.Statement)
		}
	}
	entries := map[string]memory.Memory{}
	for _, m := range formed.Entries {
		entries[m.ID] = m
	}
	var out []reward.Entry
	for _, m := range formed.Entries {
		if m.Status != memory.StatusActive {
			continue
		}
		e := reward.Entry{Text: m.Content}
		for _, id := range m.Predecessors {
			for _, turn := range entries[id].Sources {
				e.Replaced = append(e.Replaced, stated[turn]...)
			}
		}
		out = append(out, e)
	}
	return out, t.embed(ctx, out)
}

func (t truthOf) embed(ctx context.Context, entries []reward.Entry) error {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.Text
	}
	vectors, err := t.embedder.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("embed: %w", err)
	}
	for i := range entries {
		entries[i].Vector = vectors[i]
	}
	return nil
}

// MeasurePolicy forms the lives of people by a chooser and measures what is remembered.
func MeasurePolicy(ctx context.Context, choose decision.Chooser, people []synthesis.Person) (formation.Measures, error) {
	tally, e := formation.NewTally(), embedding.Cached(builtin.New(), 50_000)
	out := make([]formation.Formed, len(people))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.NumCPU())
	for i, p := range people {
		g.Go(func() (err error) {
			out[i], err = Decided(choose, "measured", e).Form(gctx, p.Subject("measured"))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return formation.Measures{}, err
	}
	for i, p := range people {
		tally.Add(p.Subject("measured"), out[i])
	}
	return tally.Measures(), nil
}

// Calibrate returns the similarity from which a quotation and a statement count as saying the same: of all pairs of an entry, made by the
// rules, and a statement of the same person, the one at which the F1 of telling those apart that come from the same turns is greatest.
func Calibrate(ctx context.Context, people []synthesis.Person) (tau, f1 float64, err error) {
	type pair struct {
		similar float64
		same    bool
	}
	var pairs []pair
	e := embedding.Cached(builtin.New(), 50_000)
	for _, p := range people {
		formed, err := Decided(decision.Rules{}, "rules", e).Form(ctx, p.Subject("calibrated"))
		if err != nil {
			return 0, 0, err
		}
		truth := truthOf{person: p, embedder: e}
		var made, wanted []reward.Entry
		for _, m := range formed.Entries {
			made = append(made, reward.Entry{Text: m.Content})
		}
		for _, t := range p.Targets {
			wanted = append(wanted, reward.Entry{Text: t.Statement})
		}
		if err := truth.embed(ctx, made); err != nil {
			return 0, 0, err
		}
		if err := truth.embed(ctx, wanted); err != nil {
			return 0, 0, err
		}
		for i, m := range formed.Entries {
			for j, t := range p.Targets {
				same := slices.ContainsFunc(m.Sources, func(id string) bool { return slices.Contains(t.Turns, id) })
				pairs = append(pairs, pair{memory.Cosine(made[i].Vector, wanted[j].Vector), same})
			}
		}
	}
	for at := 0.0; at < 1; at += 0.05 {
		hit, found, all := 0, 0, 0
		for _, p := range pairs {
			if p.same {
				all++
			}
			if p.similar >= at {
				found++
				if p.same {
					hit++
				}
			}
		}
		if f := 2 * float64(hit) / float64(max(1, found+all)); f > f1 {
			tau, f1 = at, f
		}
	}
	return tau, f1, nil
}
