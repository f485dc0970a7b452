package training

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/supervised"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/lab/synthesis/questions"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// Maps says whether a refitted prior has residual maps of the embeddings.
type Maps string

// The values of Maps.
const (
	// MapsAuto has maps where they add recall@10 on held-out users. The interval of the gain must lie above zero.
	MapsAuto Maps = "auto"
	MapsOn   Maps = "on"
	MapsOff  Maps = "off"
)

// RefitOptions are the options of the fit of a prior.
type RefitOptions struct {
	// Embedder makes the vectors of memories and questions.
	Embedder embedding.Embedder
	// Parts is the number of parts of the users. Seed deals the users into parts. With fewer users, each user is a
	// part.
	Parts int
	Seed  uint64
	// Maps says whether the prior has maps.
	Maps Maps
	// Training are the options of the fit itself.
	Training supervised.RefitOptions
}

// RefitDefaults are the default options. The caller must set an embedder.
func RefitDefaults() RefitOptions {
	return RefitOptions{Parts: 5, Seed: 1, Maps: MapsAuto, Training: supervised.DefaultRefitOptions()}
}

func (o RefitOptions) validate() error {
	if o.Parts < 2 || o.Parts > 100 {
		return fault.Terminal("parts", "is %d, want 2 to 100", o.Parts)
	}
	if o.Maps != MapsAuto && o.Maps != MapsOn && o.Maps != MapsOff {
		return fault.Terminal("maps", "is %q, want auto, on or off", o.Maps)
	}
	if o.Training.MapPull == 0 {
		return fault.Terminal("map_pull", "is 0, want more: maps that nothing draws to zero learn the questions by heart")
	}
	return nil
}

// sweptCandidates are the numbers of candidates for the recall figures, up to the limit of a request.
var sweptCandidates = [...]int{20, 50, 100, 200}

// sweptShown are the numbers of memories shown. comparedShown is the index of the number that decides about maps.
var sweptShown = [...]int{5, 10, 20}

const comparedShown = 1

// Names of the measured weights in RefitReport.
const (
	WeightsCosine  = "cosine"
	WeightsShipped = "shipped"
	WeightsRefit   = "refit"
	WeightsMaps    = "refit_maps"
)

// RefitReport has the results of a refitted prior on users outside its training data. Shares are 0 to 1.
type RefitReport struct {
	Embedding string `json:"embedding"`
	Dimension int    `json:"dimension"`
	// Users counts users with evidence for a question. Each is measured with weights fitted to the other parts.
	Users     int    `json:"users"`
	Questions int    `json:"questions"`
	Parts     int    `json:"parts"`
	Seed      uint64 `json:"seed"`
	// Recall is measured on held-out questions, by weights, number of candidates and number shown.
	Recall []RefitRecall `json:"recall"`
	// Gains are differences of recall on the same questions, with the most candidates.
	Gains []RefitGain `json:"gains"`
	// SimilarityBefore and SimilarityAfter are the total weight of the cosine of question and memory in the score.
	SimilarityBefore float64 `json:"similarity_before"`
	SimilarityAfter  float64 `json:"similarity_after"`
	// Maps is true when the prior has maps.
	Maps bool `json:"maps"`
}

// RefitRecall is the mean share of a question's evidence among the first memories. Its interval is drawn over users.
type RefitRecall struct {
	Weights    string         `json:"weights"`
	Candidates int            `json:"candidates"`
	Shown      int            `json:"shown"`
	Recall     float64        `json:"recall"`
	Interval   score.Interval `json:"interval"`
}

// RefitGain is the difference of recall between two sets of weights.
type RefitGain struct {
	Weights    string         `json:"weights"`
	Over       string         `json:"over"`
	Shown      int            `json:"shown"`
	Difference float64        `json:"difference"`
	Interval   score.Interval `json:"interval"`
}

// Refit fits the shipped prior, and maps, to an embedder. Its data is conversations with questions and known
// evidence. The embedded policy forms the memories behind the trained filter. Users are dealt into parts. Each part
// is measured with weights of the other parts. The returned prior is fitted to all parts. Equal input gives the same
// prior. Fewer than two users with questions, or options out of range, are terminal errors.
func Refit(ctx context.Context, subjects []dataset.Subject, o RefitOptions) (ranking.Prior, RefitReport, error) {
	report := RefitReport{Embedding: o.Embedder.Model(), Dimension: o.Embedder.Dimension(), Seed: o.Seed}
	if err := o.validate(); err != nil {
		return ranking.Prior{}, report, err
	}
	shipped, err := features.Prior()
	if err != nil {
		return ranking.Prior{}, report, err
	}
	subjects = slices.DeleteFunc(slices.Clone(subjects), func(s dataset.Subject) bool {
		return !slices.ContainsFunc(s.Questions, dataset.Question.HasEvidence)
	})
	if len(subjects) < 2 {
		return ranking.Prior{}, report, fault.Terminal(
			"data",
			"has questions with evidence of %d users, want at least 2: what is fitted is measured on users who were held out",
			len(subjects),
		)
	}
	users, err := rehearseAll(ctx, subjects, o, shipped.Weights)
	if err != nil {
		return ranking.Prior{}, report, err
	}
	report.Users, report.Parts = len(users), min(o.Parts, len(users))
	for _, u := range users {
		report.Questions += len(u.questions)
	}
	if err := report.measure(ctx, users, o, shipped.Weights); err != nil {
		return ranking.Prior{}, report, err
	}
	training := o.Training
	if !report.Maps {
		training.MapPull = 0
	}
	fitted, err := supervised.Refit(ctx, shipped.Weights, examplesOf(users), training)
	if err != nil {
		return ranking.Prior{}, report, err
	}
	report.SimilarityBefore, report.SimilarityAfter = similarityOf(shipped, shipped.Weights), similarityOf(shipped, fitted)
	prior := ranking.Prior{Names: shipped.Names, Weights: fitted, Embedding: o.Embedder.Model()}
	return prior, report, nil
}

// similarityOf returns the weight of the cosine: once as the base score, and once more as a feature, in the mean of the
// regimes.
func similarityOf(p ranking.Prior, w ranking.Weights) float64 {
	sum := 1.0
	for _, r := range features.Regimes() {
		if k := slices.Index(p.Names, r.String()+"_similarity"); k >= 0 {
			sum += float64(w.W[k]) / float64(len(features.Regimes()))
		}
	}
	return sum
}

// rehearsedUser is a user with the questions for training or measurement.
type rehearsedUser struct {
	name      string
	questions []rehearsedQuestion
}

type rehearsedQuestion struct {
	example  supervised.Example
	covers   [][]int
	groups   []uint32
	evidence int
}

// rehearseAll forms all memories and asks all questions. The seed and the users' names decide the order of users.
func rehearseAll(
	ctx context.Context, subjects []dataset.Subject, o RefitOptions, shipped ranking.Weights,
) ([]rehearsedUser, error) {
	projector := ranking.NewProjector()
	all, err := rehearsal.Rehearse(ctx, o.Embedder, subjects, shipped.W, ranking.MaxCandidates,
		func(_ dataset.Subject, r rehearsal.Rehearsed) (rehearsedQuestion, error) {
			q := rehearsedQuestion{example: r.Example, covers: r.Covers, groups: r.Groups, evidence: len(r.Question.Evidence)}
			q.example.Query = projector.Project(r.Vector)
			for _, c := range r.Candidates {
				q.example.Projected = append(q.example.Projected, projector.Project(c.Memory.Vector))
			}
			return q, nil
		})
	if err != nil {
		return nil, err
	}
	users := make([]rehearsedUser, len(all))
	for i, of := range all {
		users[i] = rehearsedUser{subjects[i].Scope.User, of}
	}
	place := func(u rehearsedUser) uint64 { return xxhash.Sum64String(fmt.Sprintf("%d %s", o.Seed, u.name)) }
	slices.SortStableFunc(users, func(a, b rehearsedUser) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.name, b.name))
	})
	return users, nil
}

func examplesOf(users []rehearsedUser) (out []supervised.Example) {
	for _, u := range users {
		for _, q := range u.questions {
			out = append(out, q.example)
		}
	}
	return out
}

// measured has, for each user, the sums of recall by weights, candidates and memories shown.
type measured map[string][][len(sweptCandidates)][len(sweptShown)]score.Unit

// measure fits weights to all parts but one, in turn, and measures them on the left-out part.
func (r *RefitReport) measure(
	ctx context.Context, users []rehearsedUser, o RefitOptions, shipped ranking.Weights,
) error {
	m := measured{}
	for _, name := range []string{WeightsCosine, WeightsShipped, WeightsRefit, WeightsMaps} {
		m[name] = make([][len(sweptCandidates)][len(sweptShown)]score.Unit, len(users))
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for part := range r.Parts {
		group.Go(func() error { return m.part(ctx, users, part, r.Parts, o.Training, shipped) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, name := range []string{WeightsCosine, WeightsShipped, WeightsRefit, WeightsMaps} {
		for k, candidates := range sweptCandidates {
			for n, shown := range sweptShown {
				units := m.units(name, k, n)
				r.Recall = append(r.Recall, RefitRecall{name, candidates, shown, score.Mean(units), score.Bootstrap(units)})
			}
		}
	}
	for _, pair := range [...][2]string{{WeightsRefit, WeightsShipped}, {WeightsMaps, WeightsRefit}} {
		for n, shown := range sweptShown {
			units := m.units(pair[0], len(sweptCandidates)-1, n)
			for i, other := range m.units(pair[1], len(sweptCandidates)-1, n) {
				units[i].Sum -= other.Sum
			}
			gain := RefitGain{pair[0], pair[1], shown, score.Mean(units), score.Bootstrap(units)}
			r.Gains = append(r.Gains, gain)
			if gain.Weights == WeightsMaps && n == comparedShown {
				r.Maps = o.Maps == MapsOn || o.Maps == MapsAuto && gain.Interval.Low > 0
			}
		}
	}
	return nil
}

func (m measured) units(weights string, candidates, shown int) []score.Unit {
	out := make([]score.Unit, len(m[weights]))
	for i, of := range m[weights] {
		out[i] = of[candidates][shown]
	}
	return out
}

// part fits to the users of the other parts and measures on the users of one part.
func (m measured) part(
	ctx context.Context, users []rehearsedUser, part, parts int, o supervised.RefitOptions, shipped ranking.Weights,
) error {
	var others []rehearsedUser
	for i, u := range users {
		if i%parts != part {
			others = append(others, u)
		}
	}
	examples := examplesOf(others)
	withMaps, err := supervised.Refit(ctx, shipped, examples, o)
	if err != nil {
		return fmt.Errorf("part %d: %w", part+1, err)
	}
	o.MapPull = 0
	without, err := supervised.Refit(ctx, shipped, examples, o)
	if err != nil {
		return fmt.Errorf("part %d: %w", part+1, err)
	}
	blank := ranking.Weights{FeatureSet: shipped.FeatureSet, W: make([]float32, len(shipped.W))}
	of := map[string]ranking.Weights{WeightsCosine: blank, WeightsShipped: shipped, WeightsRefit: without,
		WeightsMaps: withMaps}
	for i := part; i < len(users); i += parts {
		for name, w := range of {
			for _, q := range users[i].questions {
				if err := q.measure(w, &m[name][i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// measure adds the recall of a question in the order of the services: the weights of the features choose the
// candidates, and the maps count among them.
func (q rehearsedQuestion) measure(w ranking.Weights, sums *[len(sweptCandidates)][len(sweptShown)]score.Unit) error {
	candidates := make([]ranking.Candidate, len(q.covers))
	for i := range candidates {
		candidates[i] = ranking.Candidate{
			Features: q.example.Features[i], Cosine: q.example.Cosine[i], Projected: q.example.Projected[i],
		}
	}
	linear := w
	linear.Aq, linear.Am = nil, nil
	scores, err := linear.Scores(nil, candidates)
	if err != nil {
		return fmt.Errorf("score candidates: %w", err)
	}
	chosen := ranking.Top(candidates, scores, sweptCandidates[len(sweptCandidates)-1])
	if scores, err = w.Scores(q.example.Query, candidates); err != nil {
		return fmt.Errorf("score candidates: %w", err)
	}
	for k, most := range sweptCandidates {
		among := chosen[:min(most, len(chosen))]
		some, theirs, groups := make([]ranking.Candidate, len(among)), make([]float64, len(among)), make([]uint32, len(among))
		for i, place := range among {
			some[i], theirs[i], groups[i] = candidates[place], scores[place], q.groups[place]
		}
		ranking.Spread(some, theirs, groups, ranking.DefaultSpread)
		order := ranking.Top(some, theirs, len(some))
		for i, place := range order {
			order[i] = among[place]
		}
		for n, shown := range sweptShown {
			sums[k][n].Sum += score.Share(rehearsal.Covered(q.covers, order[:min(shown, len(order))]), q.evidence)
			sums[k][n].N++
		}
	}
	return nil
}

// MadeUp returns made-up conversations with words outside the training data of the shipped prior. They serve a user
// without conversations.
func (o PriorOptions) MadeUp() ([]dataset.Subject, error) {
	if o.Conversations < 1 || o.Conversations > maxConversations {
		return nil, fault.Terminal("conversations", "is %d, want 1 to %d", o.Conversations, maxConversations)
	}
	g, err := questions.New(questions.Options{
		Seed: o.Seed, Conversations: o.Conversations, Split: synthesis.SplitHeldout, Rates: o.Rates,
	})
	if err != nil {
		return nil, err
	}
	return g.Subjects("training"), nil
}
