// Package llm talks to any OpenAI-compatible endpoint on behalf of the policies: it retries,
// limits and measures calls, asks for structured answers, and turns every answer that cannot be
// used into an error of its own kind. An unusable answer is never an empty result.
//
// The text of conversations is data: see DataBlock for how prompts carry it.
package llm
