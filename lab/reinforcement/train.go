package reinforcement

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/learning"
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Reward names a reward of decisions.
type Reward string

// The rewards.
const (
	RewardTransition Reward = "transition" // DeltaMem: the change of the state of memory
	RewardOutcome    Reward = "outcome"    // questions about all earlier sessions, the same reward for all decisions
	RewardDense      Reward = "dense"      // MemBuilder: questions about the session, less a penalty for length
	RewardStages     Reward = "stages"     // SaliMory: the answer, the bank, and profile and filter
	RewardHorizon    Reward = "horizon"    // Memory-R2: questions about the session from the last bank of whole lives
)

// Rewards returns all rewards.
func Rewards() []Reward {
	return []Reward{RewardTransition, RewardOutcome, RewardDense, RewardStages, RewardHorizon}
}

// Options are the options of the training of a policy by rewards.
type Options struct {
	// Version is the version of the policy. Empty means a version with the reward's name.
	Version string `json:"version"`
	// Seed chooses people, draws and start.
	Seed uint64 `json:"seed"`
	// Persons is the number of made-up training people, Sessions the number of sessions of each.
	Persons  int `json:"persons"`
	Sessions int `json:"sessions"`
	// Together is the number of people with rollouts in an update. One policy makes all these rollouts.
	Together int `json:"together"`
	// Group is the number of draws of each session from the same state. For RewardHorizon it is the number of draws
	// of a whole life.
	Group int `json:"group"`
	// Hidden is the width of the heads' layer. 0 means no layer.
	Hidden int `json:"hidden"`
	// Roles are the learning roles. Empty means all.
	Roles []decision.Role `json:"roles,omitempty"`
	// Weak starts from a policy that keeps too few turns and replaces too little, in place of the shipped models. It
	// excludes Hidden.
	Weak bool `json:"weak"`

	Reward     Reward                   `json:"reward"`
	Transition reward.TransitionOptions `json:"transition"`
	Dense      reward.DenseOptions      `json:"dense"`
	Stages     reward.StageOptions      `json:"stages"`
	Horizon    reward.HorizonOptions    `json:"horizon"`
	// Judge computes RewardStages. nil means the rules, which use the truth of a made-up life. JSON leaves it out, so
	// a training by many processes has no other judge.
	Judge reward.Judge `json:"-"`
	// Local is the share of credit of groups that begin at one state, for RewardHorizon. Rerolls is the number of
	// draws of such a group. Chance is the probability that a session has one (Memory-R2).
	Local   float64 `json:"local"`
	Rerolls int     `json:"rerolls"`
	Chance  float64 `json:"chance"`

	Update learning.UpdateOptions `json:"update"`
}

// Defaults returns settings that take some minutes on two cores.
func Defaults() Options {
	o := Options{
		Seed: 1, Persons: 16, Sessions: 12, Together: 1, Group: 8, Local: 0.5, Rerolls: 4, Chance: 0.5,
		Reward: RewardTransition, Transition: reward.TransitionDefaults(), Dense: reward.DenseDefaults(),
		Stages:  reward.StageDefaults(),
		Horizon: reward.HorizonDefaults(), Update: learning.UpdateDefaults(),
	}
	o.Transition.Tau = TauOfQuotations
	return o
}

// TauOfQuotations is the least similarity of a quotation and a statement with the same meaning, by the built-in
// embedding: see Calibrate.
const TauOfQuotations = 0.35

// maxDrawn bounds the sessions drawn for an update. All their decisions are in memory together, up to 20 KB a
// session.
const maxDrawn = 50_000

// Validate reports a setting that is out of range.
func (o Options) Validate() error {
	for _, n := range []struct {
		field              string
		value, least, most int
	}{
		{"persons", o.Persons, 1, 10_000}, {"sessions", o.Sessions, 1, 200}, {"together", o.Together, 1, 10_000},
		{"group", o.Group, 2, 256}, {"hidden", o.Hidden, 0, 1024},
		{"rerolls", o.Rerolls, 2, 256},
	} {
		if n.value < n.least || n.value > n.most {
			return fault.Terminal(n.field, "is %d, want %d to %d", n.value, n.least, n.most)
		}
	}
	if drawn := min(o.Together, o.Persons) * o.Sessions * o.Group; drawn > maxDrawn {
		return fault.Terminal("together", "is %d, which draws %d sessions for an update with groups of %d, want %d at "+
			"most: they are in memory",
			o.Together, drawn, o.Group, maxDrawn)
	}
	switch {
	case !slices.Contains(Rewards(), o.Reward):
		return fault.Terminal("reward", "is %q, want one of %q", o.Reward, Rewards())
	case o.Judge != nil && o.Reward != RewardStages:
		return fault.Terminal("judge", "is for the reward %q, which is %q", RewardStages, o.Reward)
	case o.Weak && o.Hidden > 0:
		return fault.Terminal("hidden", "is %d, want 0 for a weak start", o.Hidden)
	case !(o.Local >= 0 && o.Local <= 1):
		return fault.Terminal("local", "is %v, want 0 to 1", o.Local)
	case !(o.Chance >= 0 && o.Chance <= 1):
		return fault.Terminal("chance", "is %v, want 0 to 1", o.Chance)
	}
	if o.Version != "" && tenant.ValidVersion(o.Version) != nil {
		return tenant.ValidVersion(o.Version)
	}
	for _, r := range o.Roles {
		if !slices.Contains(decision.Roles(), r) {
			return fault.Terminal("roles", "have %q, want some of %q", r, decision.Roles())
		}
	}
	if len(o.roles()) == 0 {
		return fault.Terminal("roles", "have %q, which the reward %q never asks, want others", o.Roles, o.Reward)
	}
	for _, err := range []error{
		o.Transition.Validate(), o.Dense.Validate(), o.Stages.Validate(), o.Horizon.Validate(), o.Update.Validate(),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// roles returns the learning roles. Only RewardStages draws the profile's lines.
func (o Options) roles() []decision.Role {
	roles := o.Roles
	if len(roles) == 0 {
		roles = decision.Roles()
	}
	if o.Reward == RewardStages {
		return roles
	}
	return slices.DeleteFunc(slices.Clone(roles), func(r decision.Role) bool { return r == decision.Profile })
}

// Record describes a training.
type Record struct {
	// Sessions counts the sessions to learn from. Steps counts all formed sessions, with the draws.
	Sessions int `json:"sessions"`
	Steps    int `json:"steps"`
	// Groups counts the groups of draws with rewards. Same counts the groups with equal rewards: they only pull to
	// the reference.
	Groups int `json:"groups"`
	Same   int `json:"same"`
	// Rewards has the mean reward of each person's draws, in order. At has the number of sessions formed so far. For
	// RewardHorizon the mean is over whole lives, with any kind of groups.
	Rewards []float64 `json:"rewards"`
	At      []int     `json:"at"`
}

// SameReward is the share of groups with equal rewards.
func (r Record) SameReward() float64 { return float64(r.Same) / float64(max(1, r.Groups)) }

// State is the state of a training between two people. The training can continue from it.
type State struct {
	Policy *decision.Policy
	Adam   map[decision.Role]*learning.Adam
	// Next is the index of the next person.
	Next   int
	Record Record
}

// Start returns the state before the first person.
func Start(o Options) State {
	s := State{Policy: StartPolicy(o), Adam: map[decision.Role]*learning.Adam{}}
	for r := range s.Policy.Heads {
		s.Adam[r] = &learning.Adam{}
	}
	return s
}

// StartPolicy returns the policy at the start of a training.
func StartPolicy(o Options) *decision.Policy {
	p := &decision.Policy{Version: cmp.Or(o.Version, "trained-"+string(o.Reward)),
		Heads: map[decision.Role]decision.Head{}}
	for i, r := range decision.Roles() {
		if slices.Contains(o.roles(), r) {
			p.Heads[r] = decision.NewHead(len(decision.Features(r)), o.Hidden, rand.New(rand.NewPCG(o.Seed, uint64(i))))
		}
	}
	if !o.Weak {
		return p
	}
	for r, feature := range map[decision.Role]string{decision.Filter: "keep", decision.Change: "replace"} {
		h, learns := p.Heads[r]
		if !learns {
			h = decision.NewHead(len(decision.Features(r)), 0, nil)
			p.Heads[r] = h
		}
		h.Weights[slices.Index(decision.Features(r), feature)] = -3
	}
	return p
}

// Rolled has the results of a person's rollouts, for an update of the policy.
type Rolled struct {
	Batches map[decision.Role]*learning.Batch
	Record  Record
}

// Roll makes the rollouts of a person by the state's policy. Rollouts of different people are independent.
func Roll(ctx context.Context, o Options, s State, number int) (Rolled, error) {
	if number < 0 || number >= o.Persons {
		return Rolled{}, fault.Terminal("person", "is %d, want 0 to %d", number, o.Persons-1)
	}
	g, err := synthesis.New(synthesis.Options{Seed: o.Seed, Persons: number + 1, Sessions: o.Sessions, Clean: true})
	if err != nil {
		return Rolled{}, err
	}
	p, m, err := newKnown().person(ctx, g.Person(number))
	if err != nil {
		return Rolled{}, err
	}
	r := roller{
		o: o, person: p, number: uint64(number), policy: s.Policy, reference: StartPolicy(o), maker: m,
		out: Rolled{Batches: map[decision.Role]*learning.Batch{}},
	}
	r.out.Record.Sessions = o.Sessions
	if o.Reward == RewardHorizon {
		err = r.global(ctx)
	} else {
		err = r.local(ctx)
	}
	if err != nil {
		return Rolled{}, fmt.Errorf("person %d: %w", number+1, err)
	}
	mean := 0.0
	for _, reward := range r.rewards {
		mean += reward / float64(len(r.rewards))
	}
	r.out.Record.Rewards = []float64{mean}
	return r.out, nil
}

// Learn returns the state after an update by the rollouts of the next people, in order. It does not change its
// receiver.
func (s State) Learn(o Options, rolled ...Rolled) State {
	policy := &decision.Policy{Version: s.Policy.Version, Heads: map[decision.Role]decision.Head{}}
	out := State{Policy: policy, Adam: map[decision.Role]*learning.Adam{}, Next: s.Next + len(rolled), Record: s.Record}
	out.Record.Rewards, out.Record.At = slices.Clip(out.Record.Rewards), slices.Clip(out.Record.At)
	batches := map[decision.Role]*learning.Batch{}
	for _, from := range rolled {
		for role, b := range from.Batches {
			if batches[role] == nil {
				batches[role] = &learning.Batch{}
			}
			batches[role].Credits = append(batches[role].Credits, b.Credits...)
		}
		out.Record.Sessions += from.Record.Sessions
		out.Record.Steps += from.Record.Steps
		out.Record.Groups += from.Record.Groups
		out.Record.Same += from.Record.Same
		out.Record.Rewards = append(out.Record.Rewards, from.Record.Rewards...)
		out.Record.At = append(out.Record.At, out.Record.Steps)
	}
	for r, before := range s.Policy.Heads {
		h, adam := before.Clone(), *s.Adam[r]
		adam.First, adam.Second = slices.Clone(adam.First), slices.Clone(adam.Second)
		if b := batches[r]; b != nil && slices.Contains(o.roles(), r) {
			learning.Update(&h, &adam, *b, o.Update)
		}
		policy.Heads[r], out.Adam[r] = h, &adam
	}
	return out
}

// Next returns the people of the next update. It is empty at the end.
func (o Options) Next(s State) (people []int) {
	for i := s.Next; i < min(s.Next+o.Together, o.Persons); i++ {
		people = append(people, i)
	}
	return people
}

// Train trains heads for the decisions of the embedded salimory strategy. In each made-up life it compares draws from
// the same state and makes better draws likelier. The same options give the same policy on any number of cores. told,
// where not nil, gets each state on the way. A training that starts from such a state ends the same.
func Train(ctx context.Context, o Options, from State, told func(State) error) (State, error) {
	if err := o.Validate(); err != nil {
		return State{}, err
	}
	s := from
	for people := o.Next(s); len(people) > 0; people = o.Next(s) {
		rolled := make([]Rolled, len(people))
		err := each(ctx, len(people), func(ctx context.Context, i int) (err error) {
			rolled[i], err = Roll(ctx, o, s, people[i])
			return err
		})
		if err != nil {
			return State{}, err
		}
		s = s.Learn(o, rolled...)
		if told == nil {
			continue
		}
		if err := told(s); err != nil {
			return State{}, err
		}
	}
	return s, nil
}

// roller makes the rollouts of one person.
type roller struct {
	o         Options
	person    *person
	number    uint64
	policy    *decision.Policy
	reference *decision.Policy
	maker     maker
	out       Rolled
	rewards   []float64
}

// random returns the random source of a draw. Each draw has its fixed source, different from all others.
func (r *roller) random(session, draw int) *rand.Rand {
	return rand.New(rand.NewPCG(r.o.Seed, r.number<<44|uint64(session)<<28|uint64(draw)))
}

// draw is one continuation of a state.
type draw struct {
	life    *formation.Life
	formed  formation.Formed
	sampler *decision.Sampler
	// taken are the decisions since the state. The profile's decisions come last.
	taken map[decision.Role][]decision.Choice
}

// drawn continues a life for some sessions, by the policy's probabilities.
func (r *roller) drawn(ctx context.Context, life *formation.Life, sessions int, random *rand.Rand) (*draw, error) {
	d := &draw{sampler: decision.NewSampler(r.policy, random)}
	p := r.maker.withChooser(d.sampler, r.policy.Version)
	var err error
	if d.life, err = life.Fork(p.Filter, p.Former); err != nil {
		return nil, err
	}
	for range sessions {
		if err := d.life.Step(ctx); err != nil {
			return nil, err
		}
	}
	if d.formed, err = d.life.Formed(ctx); err != nil {
		return nil, err
	}
	d.taken = d.sampler.Taken()
	return d, nil
}

// each calls do for the numbers below n, on all cores.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// credit adds drawn decisions to the batches, with their advantage and weight.
func (r *roller) credit(taken map[decision.Role][]decision.Choice, advantage, weight float64) {
	for role, choices := range taken {
		if _, learns := r.reference.Heads[role]; !learns {
			continue
		}
		b := r.batch(role)
		for _, c := range choices {
			b.Credits = append(b.Credits, learning.Credit{
				Choice: c, Advantage: advantage, Weight: weight, Share: 1 / float64(len(choices)),
				Reference: r.reference.Heads[role].LogProbabilities(c.Options),
			})
		}
	}
}

func (r *roller) batch(role decision.Role) *learning.Batch {
	if r.out.Batches[role] == nil {
		r.out.Batches[role] = &learning.Batch{}
	}
	return r.out.Batches[role]
}

// advantages returns the advantages of a group's rewards, and counts the group.
func (r *roller) advantages(rewards []float64) []float64 {
	out, varied := learning.Advantages(rewards)
	r.out.Record.Groups++
	if !varied {
		r.out.Record.Same++
	}
	return out
}
