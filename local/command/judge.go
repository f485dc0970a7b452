package command

import "github.com/mneme-memory/mneme/shared/model/llm"

// JudgeSettings name two models: one answers from the whole history, the other marks answers. Without a name for the
// second, the first one marks.
type JudgeSettings struct {
	Endpoint llm.Config `envPrefix:"MNEME_LLM_"`
	Judge    llm.Config `envPrefix:"MNEME_JUDGE_"`
}
