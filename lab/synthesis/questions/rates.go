package questions

import "github.com/mneme-memory/mneme/shared/fault"

// Rates say how often what happens, each from 0 to 1.
type Rates struct {
	// Assistant is the share of conversations with an assistant.
	Assistant float64
	// Threads is how often what is told belongs to one of the speaker's few threads, which come back in session after session; otherwise it is
	// of something new.
	Threads float64
	// Shared is how often a thread of one speaker is the other's as well.
	Shared float64
	// Recap is how often a speaker comes back to something without telling anything about it; Similar how often a listener says something
	// of their own in the same words.
	Recap, Similar float64
	// Prompt is how often the other asks to hear of something.
	Prompt float64
	// Volunteer is how often a detail is told without having been asked for.
	Volunteer float64
	// Greeting is how often the first turn says hello, Reaction how often a turn begins with one to what was said before.
	Greeting, Reaction float64
	// More is how often a sentence follows that says nothing that is asked about; Tail how often a turn ends in a question about the other.
	More, Tail float64
	// OnTopic is how often such a sentence has the words of the thread, where there are such; Restate how often an answer says again what it
	// is about.
	OnTopic, Restate float64
	// General is how often a question is asked that names nothing of the thing that it is about.
	General float64
	// Caption is how often a turn has a picture, where there is a caption for it.
	Caption float64
	// Vague is how often something is told without a time.
	Vague float64
	// Late is how often the time comes in an answer only.
	Late float64
	// Dated is how often a question that can says when it was.
	Dated float64
	// Temporal, Multi, Detail, Now and Told are the shares of the questions; they are scaled to a sum of 1.
	Temporal, Multi, Detail, Now, Told float64
}

// DefaultRates are those of a chat of friends, as we imagine one.
func DefaultRates() Rates {
	return Rates{
		Assistant: 0.15, Threads: 0.6, Shared: 0.3, Recap: 0.12, Similar: 0.12, Prompt: 0.35, Volunteer: 0.45, Greeting: 0.9, Reaction: 0.85,
		More: 0.6, Tail: 0.25,
		OnTopic: 0.6, Restate: 0.45, General: 0.45, Caption: 0.3, Vague: 0.65, Late: 0.08, Dated: 0.45,
		Temporal: 0.2, Multi: 0.17, Detail: 0.33, Now: 0.04, Told: 0.26,
	}
}

func (r Rates) check() error {
	for name, v := range map[string]float64{
		"assistant": r.Assistant, "threads": r.Threads, "shared": r.Shared, "recap": r.Recap, "similar": r.Similar, "prompt": r.Prompt,
		"volunteer": r.Volunteer,
		"greeting":  r.Greeting, "reaction": r.Reaction, "more": r.More, "tail": r.Tail,
		"on_topic": r.OnTopic, "restate": r.Restate, "general": r.General, "caption": r.Caption, "vague": r.Vague, "late": r.Late,
		"dated": r.Dated, "temporal": r.Temporal, "multi": r.Multi, "detail": r.Detail, "now": r.Now, "told": r.Told,
	} {
		if !(v >= 0 && v <= 1) {
			return fault.Terminal("rates."+name, "is %v, want 0 to 1", v)
		}
	}
	if r.Temporal+r.Multi+r.Detail+r.Now+r.Told == 0 {
		return fault.Terminal("rates", "ask for no question of any category")
	}
	return nil
}

// of is the share of a category.
func (r Rates) of(c Category) float64 {
	return map[Category]float64{
		CategoryTemporal: r.Temporal, CategoryMulti: r.Multi, CategoryDetail: r.Detail, CategoryNow: r.Now, CategoryTold: r.Told,
	}[c] / (r.Temporal + r.Multi + r.Detail + r.Now + r.Told)
}
