package questions

import "github.com/mneme-memory/mneme/shared/fault"

// Rates are the frequencies of events, each from 0 to 1.
type Rates struct {
	// Assistant is the share of conversations with an assistant.
	Assistant float64
	// Threads is the share of facts from the speaker's few threads, which come back in many sessions. The rest is new
	// facts.
	Threads float64
	// Shared is the share of a speaker's threads that the other has as well.
	Shared float64
	// Recap is how often a speaker mentions a thread without a new fact. Similar is how often a listener says a
	// similar thing about themselves in the same words.
	Recap, Similar float64
	// Prompt is how often the other asks for news.
	Prompt float64
	// Volunteer is how often a detail comes without a question.
	Volunteer float64
	// Greeting is how often the first turn says hello. Reaction is how often a turn begins with a reaction to the
	// last one.
	Greeting, Reaction float64
	// More is how often a sentence without a question follows. Tail is how often a turn ends in a question about the
	// other.
	More, Tail float64
	// OnTopic is how often such a sentence has the words of the thread, where possible. Restate is how often an
	// answer repeats the topic.
	OnTopic, Restate float64
	// General is how often a question does not name its thing.
	General float64
	// Caption is how often a turn has a picture, where a caption exists.
	Caption float64
	// Vague is how often a fact comes without a time.
	Vague float64
	// Late is how often the time comes in an answer only.
	Late float64
	// Dated is how often a question says the time, where it can.
	Dated float64
	// Temporal, Multi, Detail, Now and Told are the shares of the questions. They are scaled to a sum of 1.
	Temporal, Multi, Detail, Now, Told float64
}

// DefaultRates returns assumed rates for a chat of friends.
func DefaultRates() Rates {
	return Rates{
		Assistant: 0.15, Threads: 0.6, Shared: 0.3, Recap: 0.12, Similar: 0.12, Prompt: 0.35, Volunteer: 0.45, Greeting: 0.9,
		Reaction: 0.85,
		More:     0.6, Tail: 0.25,
		OnTopic: 0.6, Restate: 0.45, General: 0.45, Caption: 0.3, Vague: 0.65, Late: 0.08, Dated: 0.45,
		Temporal: 0.2, Multi: 0.17, Detail: 0.33, Now: 0.04, Told: 0.26,
	}
}

func (r Rates) check() error {
	for name, v := range map[string]float64{
		"assistant": r.Assistant, "threads": r.Threads, "shared": r.Shared, "recap": r.Recap, "similar": r.Similar,
		"prompt":    r.Prompt,
		"volunteer": r.Volunteer,
		"greeting":  r.Greeting, "reaction": r.Reaction, "more": r.More, "tail": r.Tail,
		"on_topic": r.OnTopic, "restate": r.Restate, "general": r.General, "caption": r.Caption, "vague": r.Vague,
		"late":  r.Late,
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

// of returns the share of a category.
func (r Rates) of(c Category) float64 {
	return map[Category]float64{
		CategoryTemporal: r.Temporal, CategoryMulti: r.Multi, CategoryDetail: r.Detail, CategoryNow: r.Now,
		CategoryTold: r.Told,
	}[c] / (r.Temporal + r.Multi + r.Detail + r.Now + r.Told)
}
