package reranker

import (
	"errors"
	"time"

	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// Config is the settings of the service.
type Config struct {
	Bus     wiring.Bus
	Tenants wiring.Tenants
	Inside  wiring.Inside
	Weights wiring.Weights
	Prior   wiring.Prior
	Learn   Settings
	// Group is the consumer group of the reranker.
	Group string `envDefault:"mneme-reranker"`
}

// Settings configure ranking and learning.
type Settings struct {
	Explore     float64 `env:"MNEME_RERANKER_EXPLORE" envDefault:"0" desc:"share of recalls with a randomly drawn order"`
	ExploreLast float64 `env:"MNEME_RERANKER_EXPLORE_LAST" envDefault:"0.2" desc:"share of recalls with an exploring candidate in the last place"`
	// Temperature is how far drawn orders deviate from the scores.
	Temperature float64 `envDefault:"0.5"`
	Spread      float64 `env:"MNEME_RERANKER_SPREAD" envDefault:"0.2" desc:"deduction from a score for each better memory of its session, if a query needs several things; 0 spreads nothing"`
	// LearningRate is the step size of the embedding maps; 0 turns their learning off.
	LearningRate float64 `envDefault:"0.001"`
	FeatureRate  float64 `env:"MNEME_RERANKER_FEATURE_RATE" envDefault:"0.15" desc:"length of the first steps of the features' weights per unit of gradient"`
	// Baseline is subtracted from the rewards, 1 or -1, of drawn orders.
	Baseline float64 `envDefault:"0.5"`
	Batch    int     `env:"MNEME_RERANKER_BATCH" envDefault:"4" desc:"citation reports in one step of the weights"`
	// Radius limits the distance of feature weights, and of maps, from the prior.
	Radius     float64 `envDefault:"1"`
	UserRate   int     `env:"MNEME_RERANKER_USER_RATE" envDefault:"600" desc:"most reports of one user an hour that change the weights"`
	TenantRate int     `env:"MNEME_RERANKER_TENANT_RATE" envDefault:"36000" desc:"most reports of one tenant an hour that change the weights"`
	// Tenants is the number of tenants with cached weights; 16 tenants without weights count as 1.
	Tenants int `envDefault:"1000"`
	// Refresh is the maximum age of cached weights before the next read.
	Refresh     time.Duration `envDefault:"1s"`
	LoadTimeout time.Duration `env:"MNEME_RERANKER_LOAD_TIMEOUT" envDefault:"100ms" desc:"how long a ranking waits for fresh weights"`
	TraceQueue  int           `envDefault:"1024"`
}

// Validate checks the limits that the types do not express.
func (s Settings) Validate() error {
	return errors.Join(
		config.Require(s.Explore >= 0 && s.Explore <= 1, "MNEME_RERANKER_EXPLORE", s.Explore, "0 to 1"),
		config.Require(s.ExploreLast >= 0 && s.ExploreLast <= 1, "MNEME_RERANKER_EXPLORE_LAST", s.ExploreLast, "0 to 1"),
		config.Require(s.Spread >= 0 && s.Spread <= 1e3, "MNEME_RERANKER_SPREAD", s.Spread, "0 to 1000"),
		config.Require(s.FeatureRate >= 0 && s.FeatureRate <= 1, "MNEME_RERANKER_FEATURE_RATE", s.FeatureRate, "0 to 1"),
		config.Require(s.Batch >= 1 && s.Batch <= 1024, "MNEME_RERANKER_BATCH", s.Batch, "1 to 1024"),
		config.Require(s.UserRate > 0, "MNEME_RERANKER_USER_RATE", s.UserRate, "more than zero"),
		config.Require(s.TenantRate > 0, "MNEME_RERANKER_TENANT_RATE", s.TenantRate, "more than zero"),
		config.Require(s.LoadTimeout > 0, "MNEME_RERANKER_LOAD_TIMEOUT", s.LoadTimeout, "more than zero"),
	)
}

// ranking returns the settings of package ranking.
func (s Settings) ranking() ranking.Settings {
	r := ranking.DefaultSettings()
	r.LearningRate, r.FeatureRate, r.Baseline = s.LearningRate, s.FeatureRate, s.Baseline
	r.Temperature, r.Spread, r.Batch = s.Temperature, s.Spread, s.Batch
	r.FeatureRadius, r.MapRadius = s.Radius, s.Radius
	return r
}
