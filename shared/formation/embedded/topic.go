package embedded

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

const (
	maxKeywords     = 12
	maxKeywordBytes = 40
	// leastTopic is the cosine that a statement must have with a domain to be of it.
	leastTopic = 0.3
)

// domains of life: the name, and words that describe it.
var domains = [][]string{
	{"health", "doctor", "illness", "medicine", "allergy"}, {"work", "job", "office", "boss", "career"},
	{"family", "mother", "brother", "child", "parents"}, {"relationships", "friend", "girlfriend", "partner", "wedding"},
	{"pets", "dog", "cat", "puppy", "rabbit"}, {"travel", "trip", "flight", "vacation", "hotel"},
	{"food", "cooking", "restaurant", "dinner", "recipe"}, {"study", "school", "university", "exam", "student"},
	{"sport", "running", "football", "gym", "training"}, {"music", "song", "guitar", "concert", "band"},
	{"arts", "painting", "drawing", "sculpture", "dance"}, {"books", "novel", "reading", "author", "library"},
	{"film", "movie", "cinema", "actor", "series"}, {"games", "gaming", "chess", "puzzle", "console"},
	{"money", "budget", "bank", "loan", "salary"}, {"home", "house", "apartment", "kitchen", "furniture"},
	{"transport", "car", "train", "bicycle", "driving"}, {"technology", "computer", "software", "phone", "programming"},
	{"community", "volunteer", "charity", "church", "politics"}, {"nature", "garden", "forest", "flower", "weather"},
}

// shippedTopics are made once: that reads the word vectors.
var shippedTopics = sync.OnceValue(func() *topics { return newTopics(wordvector.Shipped()) })

// About returns the fields of an entry for a statement of a kind at a time, as for quotations. They are the topic, the
// search words, and the time of the event.
func About(said string, kind memory.Kind, at time.Time) (topic string, keywords []string, event memory.EventTime) {
	_, mentions, expressions := annotate(said, at)
	topic, keywords = shippedTopics().classify(said)
	return topic, keywords, eventTime(said, kind, mentions, expressions, at)
}

// topics finds the domain of life that a statement is about, by the word vectors.
type topics struct {
	table   *wordvector.Table
	centres [][]float32
}

func newTopics(table *wordvector.Table) *topics {
	t := &topics{table: table}
	for _, words := range domains {
		centre := make([]float32, table.Dimension())
		for _, w := range words {
			if i, ok := table.Find(w); ok {
				table.Add(centre, i, 1)
			}
		}
		t.centres = append(t.centres, unit(centre))
	}
	return t
}

// classify returns the domain of a statement and the stems for search. A statement outside all domains has its longest
// word as topic.
func (t *topics) classify(said string) (topic string, keywords []string) {
	sum := make([]float32, t.table.Dimension())
	words := text.Words(said)
	for i, w := range words {
		if text.IsFiller(said, words, i) || w.Number {
			continue
		}
		if at, ok := t.table.Find(w.Lower); ok {
			t.table.Add(sum, at, 1)
		}
		if len(w.Lower) > len(topic) && len(w.Lower) <= maxKeywordBytes {
			topic = w.Lower
		}
		stem := text.Stem(w.Lower)
		if len(stem) > 2 && len(stem) <= maxKeywordBytes && len(keywords) < maxKeywords && !slices.Contains(keywords, stem) {
			keywords = append(keywords, stem)
		}
	}
	best := leastTopic
	unit(sum)
	for i, centre := range t.centres {
		if c := dot(sum, centre); c > best {
			best, topic = c, domains[i][0]
		}
	}
	return topic, keywords
}

func unit(v []float32) []float32 {
	length := math.Sqrt(dot(v, v))
	for i := range v {
		v[i] = float32(float64(v[i]) / max(length, 1e-9))
	}
	return v
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// liking are the stems of what tells a preference.
var liking = text.StemSet("like love prefer hate enjoy dislike adore favourite favorite fan rather fond")

// routine matches the words of repeated actions.
var routine = regexp.MustCompile(`(?i)\b(?:every|each|usually|always|daily|weekly)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b`)

// kindOf returns the kind of a quotation: a preference, a habit, an event, a plan or a state. It only selects the
// place in a profile.
func kindOf(said string, mentions []text.DateMention) memory.Kind {
	words := text.Words(said)
	own := slices.ContainsFunc(words, func(w text.Word) bool { return subjects[w.Lower] })
	switch {
	case slices.ContainsFunc(words, func(w text.Word) bool { return liking[text.Stem(w.Lower)] }):
		return memory.KindPreference
	case slices.ContainsFunc(mentions, isPlaced), text.TellsPast(words):
		return memory.KindEpisodic
	case own && routine.MatchString(said):
		return memory.KindProcedural
	case own || !strings.Contains(said, "?"):
		return memory.KindFact
	}
	return memory.KindSemantic
}

func isPlaced(m text.DateMention) bool { return m.Unit != text.Vague }
