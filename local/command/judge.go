package command

import "github.com/mneme-memory/mneme/shared/model/llm"

// JudgeSettings name the model that answers from the whole history, and the model that marks answers. Without a name, the first marks.
type JudgeSettings struct {
	Endpoint llm.Config `envPrefix:"MNEME_LLM_"`
	Judge    llm.Config `envPrefix:"MNEME_JUDGE_"`
}
