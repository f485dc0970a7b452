package learning_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/lab/learning"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
)

func near(a, b, within float64) bool { return math.Abs(a-b) <= within*(1+math.Abs(b)) }

// drawHead makes a head of two features, with a layer or without.
func drawHead(t *rapid.T) decision.Head {
	h := decision.NewHead(2, rapid.SampledFrom([]int{0, 3}).Draw(t, "hidden"), rand.New(rand.NewPCG(1, 2)))
	for i := range h.Weights {
		h.Weights[i] = rapid.Float64Range(-1, 1).Draw(t, "weight")
	}
	return h
}

func drawChoice(t *rapid.T, h decision.Head) decision.Choice {
	n := rapid.IntRange(2, 4).Draw(t, "options")
	options := make([]decision.Option, n)
	for i := range options {
		options[i] = decision.Option{
			Features: []float64{rapid.Float64Range(-1, 1).Draw(t, "a"), rapid.Float64Range(-1, 1).Draw(t, "b")},
			Base:     rapid.Float64Range(-1, 1).Draw(t, "base"),
		}
	}
	chosen := rapid.IntRange(0, n-1).Draw(t, "chosen")
	off := rapid.Float64Range(-0.6, 0.6).Draw(t, "ratio")
	return decision.Choice{Options: options, Chosen: chosen, LogProbability: h.LogProbabilities(options)[chosen] + off}
}

// check compares a gradient with differences of the loss.
func check(t *rapid.T, h decision.Head, gradient []float64, loss func(decision.Head) float64) {
	const step = 1e-6
	for i := range h.Weights {
		up, down := h.Clone(), h.Clone()
		up.Weights[i] += step
		down.Weights[i] -= step
		if want := (loss(up) - loss(down)) / (2 * step); !near(gradient[i], want, 1e-4) {
			t.Fatalf("derivative by weight %d is %v, want %v", i, gradient[i], want)
		}
	}
}

func TestTheSurrogatesGradientIsItsDerivative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHead(t)
		choice := drawChoice(t, h)
		o := learning.SurrogateDefaults()
		c := learning.Credit{Choice: choice, Advantage: rapid.Float64Range(-2, 2).Draw(t, "advantage"),
			Weight: rapid.SampledFrom([]float64{0, 1, 4}).Draw(t, "weight"), Reference: decision.Head{Features: 2,
				Weights: []float64{0.3, -0.2}}.LogProbabilities(choice.Options)}
		loss, divergence, byScore := o.Surrogate(h, c)
		if divergence < -1e-12 || math.IsNaN(loss) {
			t.Fatalf("loss %v, divergence %v", loss, divergence)
		}
		ratio := math.Exp(h.LogProbabilities(choice.Options)[choice.Chosen] - choice.LogProbability)
		for _, edge := range []float64{1 - o.Clip, 1 + o.Clip} {
			if math.Abs(ratio-edge) < 1e-4 {
				return // no derivative there
			}
		}
		gradient := make([]float64, len(h.Weights))
		h.Accumulate(c.Options, byScore, gradient)
		check(t, h, gradient, func(h decision.Head) float64 { l, _, _ := o.Surrogate(h, c); return l })
	})
}

// Hand-made case: with a ratio of 1.1 inside the clip and an advantage of 2 the loss is -2.2. At 1.5 the clip holds
// it at 1.2 * 2. A worse choice has no clip.
func TestTheSurrogateByHand(t *testing.T) {
	h := decision.NewHead(1, 0, nil)
	options := []decision.Option{{Features: []float64{1}}, {Features: []float64{0}}} // each has probability one half
	o := learning.SurrogateDefaults()
	for _, tc := range []struct{ ratio, advantage, weight, want float64 }{
		{1.1, 2, 1, -2.2}, {1.5, 2, 1, -2.4}, {1.5, -2, 1, 3}, {0.5, -2, 1, 1.6}, {0.5, 2, 1, -1}, {1, 2, 4, -8},
		{1, -2, 4, 8},
	} {
		c := learning.Credit{Choice: decision.Choice{Options: options, LogProbability: math.Log(0.5 / tc.ratio)},
			Advantage: tc.advantage,
			Weight:    tc.weight}
		if got, _, _ := o.Surrogate(h, c); !near(got, tc.want, 1e-9) {
			t.Errorf("ratio %v, advantage %v, weight %v: loss %v, want %v", tc.ratio, tc.advantage, tc.weight, got, tc.want)
		}
	}
}

func TestAdvantagesByHand(t *testing.T) {
	// Mean 2, standard deviation by n-1 is 1.
	if got, varied := learning.Advantages([]float64{1, 2, 3}); !varied || !near(got[0], -1, 1e-5) || got[1] != 0 ||
		!near(got[2], 1, 1e-5) {
		t.Errorf("got %v, %t", got, varied)
	}
	for _, same := range [][]float64{nil, {3}, {0.1, 0.1, 0.1}} {
		if got, varied := learning.Advantages(same); varied || slices.ContainsFunc(got, func(a float64) bool {
			return a != 0
		}) {
			t.Errorf("of %v: %v, %t", same, got, varied)
		}
	}
}

func TestAdvantagesHaveNoMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rewards := rapid.SliceOfN(rapid.Float64Range(-5, 5), 2, 16).Draw(t, "rewards")
		got, _ := learning.Advantages(rewards)
		sum := 0.0
		for i, a := range got {
			sum += a
			for j, b := range got {
				if rewards[i] > rewards[j] && a < b {
					t.Fatalf("%v became %v", rewards, got)
				}
			}
		}
		if math.Abs(sum) > 1e-6 {
			t.Fatalf("the mean of %v is not 0", got)
		}
	})
}

func TestLocalGroupsHaveTheirShare(t *testing.T) {
	global, local := []string{"g1", "g2", "g3"}, []string{"l1"}
	sum := map[byte]float64{}
	for _, m := range learning.Mix(global, local, 0.5) {
		sum[m.Item[0]] += m.Weight
	}
	if !near(sum['g'], 2, 1e-12) || !near(sum['l'], 2, 1e-12) {
		t.Errorf("credit %v, want half of four each", sum)
	}
	for _, m := range learning.Mix(global, nil, 0.5) {
		if !near(m.Weight, 1, 1e-12) {
			t.Errorf("without local groups %+v", m)
		}
	}
}

// learn plays a game of three options. The features show the valuable option. It returns the learned policy's
// frequency of that option before and after.
func learn(t *testing.T, hidden int, seed uint64) (before, after float64, weights []float64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7))
	head := decision.NewHead(3, hidden, random)
	reference := head.Clone()
	ask := func() ([]decision.Option, int) {
		right := random.IntN(3)
		options := make([]decision.Option, 3)
		for i := range options {
			f := []float64{random.NormFloat64() * 0.3, random.NormFloat64() * 0.3, 0}
			if i == right {
				f[2] = 1
			}
			options[i] = decision.Option{Features: f}
		}
		return options, right
	}
	share := func() float64 {
		n := 0
		for range 500 {
			if options, right := ask(); decision.Best(head.LogProbabilities(options)) == right {
				n++
			}
		}
		return float64(n) / 500
	}
	before = share()
	var adam learning.Adam
	o := learning.UpdateDefaults()
	o.Target = 1
	for range 60 {
		var b learning.Batch
		for range 16 {
			options, right := ask()
			p := head.LogProbabilities(options)
			rewards, choices := make([]float64, 8), make([]int, 8)
			for i := range rewards {
				if choices[i] = decision.Draw(p, random); choices[i] == right {
					rewards[i] = 1
				}
			}
			advantages, _ := learning.Advantages(rewards)
			for i, a := range advantages {
				b.Credits = append(b.Credits, learning.Credit{Advantage: a, Reference: reference.LogProbabilities(options),
					Choice: decision.Choice{Options: options, Chosen: choices[i], LogProbability: p[choices[i]]}})
			}
		}
		if u := learning.Update(&head, &adam, b, o); u.Epochs < 1 || math.IsNaN(u.Loss) {
			t.Fatalf("update %+v", u)
		}
	}
	return before, share(), head.Weights
}

func TestAPolicyLearnsWhatIsRewarded(t *testing.T) {
	for _, hidden := range []int{0, 8} {
		before, after, weights := learn(t, hidden, 3)
		if before > 0.6 || after < 0.95 {
			t.Errorf("with a layer of %d: %v before, %v after", hidden, before, after)
		}
		if _, _, again := learn(t, hidden, 3); !reflect.DeepEqual(weights, again) {
			t.Errorf("with a layer of %d the same seed gives other weights", hidden)
		}
	}
}

func TestAnUpdateStopsWhenItHasGoneTooFar(t *testing.T) {
	head := decision.NewHead(1, 0, nil)
	options := []decision.Option{{Features: []float64{1}}, {Features: []float64{-1}}}
	b := learning.Batch{Credits: []learning.Credit{{Advantage: 1,
		Choice: decision.Choice{Options: options, LogProbability: math.Log(0.5)}}}}
	o := learning.UpdateDefaults()
	o.Adam.Rate, o.Adam.Warmup, o.Epochs = 1, 0, 10
	if u := learning.Update(&head, &learning.Adam{}, b, o); u.Epochs != 1 || u.Moved <= o.Slack*o.Target {
		t.Errorf("update %+v, want an end after the first epoch", u)
	}
	o.Adam.Rate = 1e-4
	if u := learning.Update(&head, &learning.Adam{}, b, o); u.Epochs != 10 {
		t.Errorf("update %+v, want all epochs", u)
	}
}

// One rollout has one good choice. The other has nine bad choices with the same total value, among the same options.
func TestRolloutsCountAlikeHoweverMuchTheyChose(t *testing.T) {
	options := []decision.Option{{Features: []float64{1}}, {Features: []float64{-1}}}
	choice := decision.Choice{Options: options, LogProbability: math.Log(0.5)}
	b := learning.Batch{Credits: []learning.Credit{{Choice: choice, Advantage: 1, Share: 1}}}
	for range 9 {
		b.Credits = append(b.Credits, learning.Credit{Choice: choice, Advantage: -1, Share: 1.0 / 9})
	}
	head, o := decision.NewHead(1, 0, nil), learning.UpdateDefaults()
	if u := learning.Update(&head, &learning.Adam{}, b, o); math.Abs(u.Loss) > 1e-9 || math.Abs(head.Weights[0]) > 1e-9 {
		t.Errorf("update %+v moved the head to %v", u, head.Weights)
	}
}

func TestALossDoesNotDependOnHowOftenABatchIsInIt(t *testing.T) {
	options := []decision.Option{{Features: []float64{1}}, {Features: []float64{-1}}}
	first := decision.Choice{Options: options, LogProbability: math.Log(0.5)}
	var once learning.Updated
	for _, times := range []int{1, 8} {
		b := learning.Batch{}
		for range times {
			b.Credits = append(b.Credits, learning.Credit{Choice: first, Advantage: 1})
		}
		head, o := decision.NewHead(1, 0, nil), learning.UpdateDefaults()
		o.Epochs = 1
		u := learning.Update(&head, &learning.Adam{}, b, o)
		switch {
		case times == 1:
			once = u
		case math.Abs(u.Loss-once.Loss) > 1e-12 || u.Loss == 0:
			t.Errorf("of %d times the batch %+v, of one %+v", times, u, once)
		}
	}
}

func TestTheReferenceIsNotLeftForNothing(t *testing.T) {
	head := decision.NewHead(1, 0, nil)
	head.Weights[0] = 2
	options := []decision.Option{{Features: []float64{1}}, {Features: []float64{-1}}}
	b := learning.Batch{Credits: []learning.Credit{{Reference: []float64{math.Log(0.5), math.Log(0.5)},
		Choice: decision.Choice{Options: options, LogProbability: head.LogProbabilities(options)[0]}}}}
	var adam learning.Adam
	o := learning.UpdateDefaults()
	o.Target = 10
	for range 300 {
		learning.Update(&head, &adam, b, o)
	}
	if math.Abs(head.Weights[0]) > 0.1 {
		t.Errorf("weight %v, want the reference's 0", head.Weights[0])
	}
}

func TestDrawsHaveTheirChances(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	p := []float64{math.Log(0.2), math.Log(0.5), math.Log(0.3)}
	counts := [3]float64{}
	for range 20000 {
		counts[decision.Draw(p, random)]++
	}
	for i, want := range []float64{0.2, 0.5, 0.3} {
		if math.Abs(counts[i]/20000-want) > 0.015 {
			t.Errorf("option %d was drawn in %v of draws, want %v", i, counts[i]/20000, want)
		}
	}
	if decision.Best(p) != 1 {
		t.Error("the likeliest is not the best")
	}
}

func TestHeadsAndSettingsAreChecked(t *testing.T) {
	good := decision.NewHead(3, 2, rand.New(rand.NewPCG(1, 1)))
	if err := good.Validate(); err != nil || len(good.Weights) != 10 {
		t.Errorf("%v, %d weights", err, len(good.Weights))
	}
	short, broken := good.Clone(), good.Clone()
	short.Weights = short.Weights[1:]
	broken.Weights[0] = math.NaN()
	for _, h := range []decision.Head{short, broken, {}, {Features: 1, Hidden: -1}} {
		if err := h.Validate(); !fault.IsTerminal(err) {
			t.Errorf("%+v: %v", h, err)
		}
	}
	o := learning.UpdateDefaults()
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*learning.UpdateOptions){
		"epochs": func(o *learning.UpdateOptions) {
			o.Epochs = 0
		}, "clip": func(o *learning.UpdateOptions) { o.Surrogate.Clip = 1 },
		"kl": func(o *learning.UpdateOptions) {
			o.Surrogate.KL = math.NaN()
		}, "rate": func(o *learning.UpdateOptions) { o.Adam.Rate = 0 },
		"rate without end":  func(o *learning.UpdateOptions) { o.Adam.Rate = math.Inf(1) },
		"slack without end": func(o *learning.UpdateOptions) { o.Slack = math.Inf(1) },
		"kl without end":    func(o *learning.UpdateOptions) { o.Surrogate.KL = math.Inf(1) },
	} {
		bad := o
		spoil(&bad)
		if err := bad.Validate(); !fault.IsTerminal(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
