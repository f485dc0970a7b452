// Package trainer lets trainers of large models, such as TRL and veRL, answer for the llm policy in made-up lives,
// and scores their answers. The production formers run unchanged. Their model client returns the answers so far;
// further requests are pending. The package uses the truth of the lives, so it is no part of a production service.
package trainer
