// Package llm calls any OpenAI-compatible endpoint for the policies. It retries, limits and measures calls, and
// requests structured answers. Every unusable answer becomes an error of a separate kind. An unusable answer is
// never an empty result.
//
// The text of conversations is data. See DataBlock for its form in prompts.
package llm
