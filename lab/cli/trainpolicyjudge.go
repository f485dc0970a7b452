package cli

import (
	"errors"
	"fmt"

	"github.com/mneme-memory/mneme/lab/judge"
	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// judgingTenant is the tenant of a model's calls as judge of made-up lives.
const judgingTenant = "training"

// openTrainingJudge opens the model that judges in place of the rules: the model that marks answers, where it has a
// name.
func openTrainingJudge(o reinforcement.Options, s trainingServers) (_ reward.Judge, free func(), _ error) {
	switch {
	case o.Reward != reinforcement.RewardStages:
		return nil, nil, fmt.Errorf("--judge is for --reward %s, which is %q", reinforcement.RewardStages, o.Reward)
	case s.temporal != "":
		return nil, nil, errors.New("--judge cannot be used with --temporal: the processes of train worker judge by rules")
	}
	settings, err := config.Load[command.JudgeSettings](config.Environ())
	if err != nil {
		return nil, nil, err
	}
	endpoint, prefix := settings.Endpoint, "--judge needs a model (MNEME_LLM_*)"
	if settings.Judge.Model != "" {
		endpoint, prefix = settings.Judge, "MNEME_JUDGE_*"
	}
	client, err := llm.NewClient(endpoint, llm.Deps{})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", prefix, err)
	}
	m, err := judge.NewModel(client, judgingTenant)
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return m, client.Close, nil
}
