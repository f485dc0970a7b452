package reinforcement

import (
	"cmp"
	"context"
	"fmt"
	"math"
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

// Reward names what decisions are worth.
type Reward string

// The rewards.
const (
	RewardTransition Reward = "transition" // DeltaMem: the change of the state of memory
	RewardOutcome    Reward = "outcome"    // questions about all that was told so far, alike for all decisions
	RewardDense      Reward = "dense"      // MemBuilder: questions about the session, less what is too long
	RewardStages     Reward = "stages"     // SaliMory: the answer, the bank, and profile and filter
	RewardHorizon    Reward = "horizon"    // Memory-R2: questions about the session from the last bank of whole lives
)

// Rewards are all there are.
func Rewards() []Reward {
	return []Reward{RewardTransition, RewardOutcome, RewardDense, RewardStages, RewardHorizon}
}

// Options are how a policy of decisions is trained by what its decisions lead to.
type Options struct {
	// Version is what the policy is called; empty for one that names the reward.
	Version string `json:"version"`
	// Seed chooses people, draws and start.
	Seed uint64 `json:"seed"`
	// Persons is how many made-up people there are to learn from, Sessions how many sessions each has. Where there are Lengths, they are
	// the numbers of sessions of the people, in order, in place of both.
	Persons  int   `json:"persons"`
	Sessions int   `json:"sessions"`
	Lengths  []int `json:"lengths,omitempty"`
	// Together is how many people's rollouts, all by one policy, make an update.
	Together int `json:"together"`
	// Group is how many times each session is drawn from the same state; of RewardHorizon how many times a whole life is.
	Group int `json:"group"`
	// Hidden is the width of the heads' layer; 0 for none.
	Hidden int `json:"hidden"`
	// Roles are those that learn; empty means all.
	Roles []decision.Role `json:"roles,omitempty"`
	// Weak starts from a policy that keeps too few turns and replaces too little, and not from the shipped models; not with Hidden.
	Weak bool `json:"weak"`

	Reward     Reward                   `json:"reward"`
	Transition reward.TransitionOptions `json:"transition"`
	Dense      reward.DenseOptions      `json:"dense"`
	Stages     reward.StageOptions      `json:"stages"`
	Horizon    reward.HorizonOptions    `json:"horizon"`
	// Every says of how many sessions one has a reward, by chance; 1 rewards each. Of the dense reward the others have form and length
	// (MemBuilder, E.2).
	Every int `json:"every"`
	// Attribution is the weight of decisions about the kind of memory that was found most (MemBuilder, Eq. 9); 1 weighs all alike.
	Attribution float64 `json:"attribution"`
	// Parts is how many of R1, R2 and R3 the reward of stages has.
	Parts int `json:"parts"`
	// Judge says what RewardStages is computed from; nil for the rules, which know what is right in a made-up life. It is not kept, so that
	// a training of many processes has none.
	Judge reward.Judge `json:"-"`
	// Contrast learns from the best beside the worst of a group, too (SaliMory, 3.4).
	Contrast bool `json:"contrast"`
	// Local is the share of credit of groups that begin at one state, for RewardHorizon; Rerolls is how many draws such a group has, and
	// Chance how likely a session has one (Memory-R2).
	Local   float64 `json:"local"`
	Rerolls int     `json:"rerolls"`
	Chance  float64 `json:"chance"`

	Update learning.UpdateOptions `json:"update"`
}

// Defaults returns settings that take some minutes on two cores.
func Defaults() Options {
	o := Options{
		Seed: 1, Persons: 16, Sessions: 12, Together: 1, Group: 8, Every: 1, Attribution: 1, Parts: 3, Local: 0.5, Rerolls: 4, Chance: 0.5,
		Reward: RewardTransition, Transition: reward.TransitionDefaults(), Dense: reward.DenseDefaults(), Stages: reward.StageDefaults(),
		Horizon: reward.HorizonDefaults(), Update: learning.UpdateDefaults(),
	}
	o.Transition.Tau = TauOfQuotations
	return o
}

// TauOfQuotations is the least similarity of a quotation and the statement that says the same, by the built-in embedding: see Calibrate.
const TauOfQuotations = 0.35

// maxDrawn bounds the sessions drawn for an update: what was decided in them is in memory together, up to 20 KB each.
const maxDrawn = 50_000

// Validate reports a setting that is out of range.
func (o Options) Validate() error {
	for _, n := range []struct {
		field              string
		value, least, most int
	}{
		{"persons", o.Persons, 1, 10_000}, {"sessions", o.Sessions, 1, 200}, {"together", o.Together, 1, 10_000},
		{"group", o.Group, 2, 256}, {"hidden", o.Hidden, 0, 1024},
		{"every", o.Every, 1, 200}, {"parts", o.Parts, 1, 3}, {"rerolls", o.Rerolls, 2, 256},
	} {
		if n.value < n.least || n.value > n.most {
			return fault.Terminal(n.field, "is %d, want %d to %d", n.value, n.least, n.most)
		}
	}
	for _, n := range o.Lengths {
		if n < 1 || n > 200 {
			return fault.Terminal("lengths", "have %d, want 1 to 200", n)
		}
	}
	if drawn := min(o.Together, len(o.lengths())) * slices.Max(o.lengths()) * o.Group; drawn > maxDrawn {
		return fault.Terminal("together", "is %d, which draws %d sessions for an update with groups of %d, want %d at most: they are in memory",
			o.Together, drawn, o.Group, maxDrawn)
	}
	switch {
	case !slices.Contains(Rewards(), o.Reward):
		return fault.Terminal("reward", "is %q, want one of %q", o.Reward, Rewards())
	case o.Judge != nil && o.Reward != RewardStages:
		return fault.Terminal("judge", "is for the reward %q, which is %q", RewardStages, o.Reward)
	case o.Weak && o.Hidden > 0:
		return fault.Terminal("hidden", "is %d, want 0 for a weak start", o.Hidden)
	case !(o.Attribution >= 1) || math.IsInf(o.Attribution, 1):
		return fault.Terminal("attribution", "is %v, want 1 or more, and finite", o.Attribution)
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

// lengths are the numbers of sessions of the people, in order.
func (o Options) lengths() []int {
	if len(o.Lengths) > 0 {
		return o.Lengths
	}
	return slices.Repeat([]int{o.Sessions}, o.Persons)
}

// roles are those that learn. What a profile shows is drawn for RewardStages alone.
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

// Record says how a training went.
type Record struct {
	// Sessions is how many there were to learn from, Steps how many were formed for that, draws and all.
	Sessions int `json:"sessions"`
	Steps    int `json:"steps"`
	// Groups is how many groups of draws had rewards, Same how many of them the same one for all draws: they
	// only pull to the reference.
	Groups int `json:"groups"`
	Same   int `json:"same"`
	// Rewards is the mean reward of the draws of each person, in order, and At how many sessions were formed until then. Of RewardHorizon it
	// is that of whole lives, whatever is learned from.
	Rewards []float64 `json:"rewards"`
	At      []int     `json:"at"`
}

// SameReward is the share of groups whose rewards were all the same.
func (r Record) SameReward() float64 { return float64(r.Same) / float64(max(1, r.Groups)) }

// State is a training between two people: all that it needs to go on.
type State struct {
	Policy *decision.Policy
	Adam   map[decision.Role]*learning.Adam
	// Next is the person to go on with.
	Next   int
	Record Record
}

// Start is a training before its first person.
func Start(o Options) State {
	s := State{Policy: StartPolicy(o), Adam: map[decision.Role]*learning.Adam{}}
	for r := range s.Policy.Heads {
		s.Adam[r] = &learning.Adam{}
	}
	return s
}

// StartPolicy is what a training starts from.
func StartPolicy(o Options) *decision.Policy {
	p := &decision.Policy{Version: cmp.Or(o.Version, "trained-"+string(o.Reward)), Heads: map[decision.Role]decision.Head{}}
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

// Rolled is what rollouts of a person brought: what a policy is updated by.
type Rolled struct {
	Batches map[decision.Role]*learning.Batch
	Record  Record
}

// Roll makes the rollouts of a person by the state's policy. Those of different people depend on nothing of each other.
func Roll(ctx context.Context, o Options, s State, number int) (Rolled, error) {
	return roll(ctx, o, s, number, newKnown())
}

func roll(ctx context.Context, o Options, s State, number int, people *known) (Rolled, error) {
	lengths := o.lengths()
	if number < 0 || number >= len(lengths) {
		return Rolled{}, fault.Terminal("person", "is %d, want 0 to %d", number, len(lengths)-1)
	}
	length := lengths[number]
	g, err := synthesis.New(synthesis.Options{Seed: o.Seed, Persons: number + 1, Sessions: length, Clean: true})
	if err != nil {
		return Rolled{}, err
	}
	p, m, err := people.person(ctx, g.Person(number))
	if err != nil {
		return Rolled{}, err
	}
	r := roller{
		o: o, person: p, number: uint64(number), policy: s.Policy, reference: StartPolicy(o), maker: m,
		out: Rolled{Batches: map[decision.Role]*learning.Batch{}},
	}
	r.out.Record.Sessions = length
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

// Learn returns the state after an update by what the rollouts of its next people brought, in order. The state itself stays.
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
			to := batches[role]
			to.Credits, to.Pairs, to.Contrast = append(to.Credits, b.Credits...), append(to.Pairs, b.Pairs...), b.Contrast
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

// Next are the people whose rollouts make the state's next update; none where there is nobody left.
func (o Options) Next(s State) (people []int) {
	for i := s.Next; i < min(s.Next+o.Together, len(o.lengths())); i++ {
		people = append(people, i)
	}
	return people
}

// Train trains heads for the decisions of the embedded salimory strategy: of each made-up life, what is drawn from the same state is held
// against each other, and better draws are made likelier. The same options give the same policy on any number of cores. told, where it is
// not nil, is told of each state on the way: what was told of goes on from there to the same end.
func Train(ctx context.Context, o Options, from State, told func(State) error) (State, error) {
	return train(ctx, o, from, told, nil)
}

// train is Train with people that other trainings read, too; nil for those of one training, which comes to each of them once.

func train(ctx context.Context, o Options, from State, told func(State) error, known *known) (State, error) {
	if err := o.Validate(); err != nil {
		return State{}, err
	}
	s := from
	for people := o.Next(s); len(people) > 0; people = o.Next(s) {
		rolled := make([]Rolled, len(people))
		err := each(ctx, len(people), func(ctx context.Context, i int) (err error) {
			rolled[i], err = roll(ctx, o, s, people[i], cmp.Or(known, newKnown()))
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

// random is that of a draw: no two have the same, and each has the same again.
func (r *roller) random(session, draw int) *rand.Rand {
	return rand.New(rand.NewPCG(r.o.Seed, r.number<<44|uint64(session)<<28|uint64(draw)))
}

// draw is one way on from a state.
type draw struct {
	life    *formation.Life
	formed  formation.Formed
	sampler *decision.Sampler
	// taken are the decisions made since the state, of which the profile's are the last.
	taken map[decision.Role][]decision.Choice
}

// drawn goes on from a life for some sessions, by the policy's chances.
func (r *roller) drawn(ctx context.Context, life *formation.Life, sessions int, random *rand.Rand) (*draw, error) {
	d := &draw{sampler: decision.NewSampler(r.policy, random)}
	p := r.maker.by(d.sampler, r.policy.Version)
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

// each does something for the numbers below n, on all cores.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// credit puts what was drawn into the batches, with what it was worth. weights are those of kinds of memory; nil weighs all alike.
func (r *roller) credit(taken map[decision.Role][]decision.Choice, advantage float64, weights map[string]float64, times float64) {
	for role, choices := range taken {
		if _, learns := r.reference.Heads[role]; !learns {
			continue
		}
		b := r.batch(role)
		for _, c := range choices {
			weight := times
			if w := weights[cmp.Or(c.Options[c.Chosen].About, c.Options[0].About)]; w > 0 {
				weight *= w
			}
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

// advantages are those of a group's rewards; the group is counted.
func (r *roller) advantages(rewards []float64) []float64 {
	out, varied := learning.Advantages(rewards)
	r.out.Record.Groups++
	if !varied {
		r.out.Record.Same++
	}
	return out
}
