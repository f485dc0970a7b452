// Package trainer lets trainers of large models, such as TRL and veRL, answer for the llm policy in made-up lives, and says what their
// answers are worth. The production formers run as they are; their model client is given the answers so far, and what it asks beyond
// them is what is pending. It knows the truth of the lives and so is no part of a service of production.
package trainer
