package training

import "github.com/mneme-memory/mneme/shared/formation/saliency"

// telling features may only speak for a turn, idle ones only against it. What they mean is known without data; the fit
// may not read the contrary out of the habits of synthetic dialogues.
var (
	telling = []string{
		"told_rare", "told_common", "told_long", "told_names", "told_numbers", "told_times", "told_tells", "told_kin", "told_past", "told_best",
		"question_rare",
		"first_clauses", "first_rare", "first_opens", "first_common", "first_tells", "first_past", "first_future", "other_rare", "other_clauses",
		"point_clauses", "own_third",
		"point_rare", "captioned", "caption_rare", "density", "glad_rare",
	}
	idle = []string{
		"empty_clauses", "idiomatic", "hollow", "only_asks", "praises", "uplifts", "thanked", "greeted", "congratulated", "urged", "questions",
		"interjected", "chatty_share", "gush_clauses", "ends_asked", "brief", "second_clauses", "size",
		"by_assistant", "assistant_advice", "commanded", "machined",
	}
)

func signs() []int {
	sign := map[string]int{}
	for _, name := range telling {
		sign[name] = 1
	}
	for _, name := range idle {
		sign[name] = -1
	}
	names := saliency.FeatureNames()
	out := make([]int, len(names))
	for i, name := range names {
		out[i] = sign[name]
	}
	return out
}
