package training

import (
	"math/rand/v2"
	"strings"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/memory"
)

// sample is one turn for training or measurement.
type sample struct {
	turn    memory.Turn
	salient bool
	// needed is true for a turn that a later request needs.
	needed bool
	weight float64
}

// Weights of a turn by its source. A turn of a made-up dialogue has weight 1.
const (
	weightUser      = 2.0 // of a dialogue with an assistant
	weightAssistant = 1.0
	weightFriend    = 3.0
	weightStatement = 1.0
	weightRequest   = 1.0
	weightJoined    = 0.5 // two texts in one turn
)

// joinedTurns is the number of turns that join two texts of different people. They teach the model to keep a fact
// that is mentioned in passing.
const joinedTurns = 3000

// Kinds of statements without a fact about their speaker, and kinds with a disputed label. They are no training data.
var (
	tellsNothing = map[string]bool{"question": true, "hypothetical question": true, "film plot": true, "role play": true}
	arguable     = map[string]bool{
		"quote": true, "pasted mail": true, "joke": true, "fiction": true, "rumour": true, "sarcasm": true,
		"hypothetical": true, "dream": true,
		"assistant info": true, "assistant's words": true,
	}
)

// people are the labelled turns and statements of a split.
func people(split corpus.Split) (samples, idle, telling []sample, _ error) {
	dialogues, err := corpus.Dialogues()
	if err != nil {
		return nil, nil, nil, err
	}
	for _, d := range dialogues {
		if d.Split() != split || d.InPassing() {
			continue
		}
		for i, l := range d.Labelled() {
			s := sample{turn: l.Turn, salient: l.Remember, needed: l.Needed, weight: weightUser}
			switch {
			case d.Turns[i].Speaker != "":
				s.weight = weightFriend
			case l.Turn.Role == memory.RoleAssistant:
				s.weight = weightAssistant
			}
			samples = append(samples, s)
			if l.Turn.Role == memory.RoleUser && !s.salient {
				idle = append(idle, s)
			}
		}
		for _, r := range d.Requests {
			if strings.HasSuffix(strings.TrimSpace(r.Text), "?") {
				s := sample{turn: memory.Turn{Speaker: d.Person, Role: memory.RoleUser, Text: r.Text}, weight: weightRequest}
				samples, idle = append(samples, s), append(idle, s)
			}
		}
	}
	said, err := corpus.AllSaid()
	if err != nil {
		return nil, nil, nil, err
	}
	for _, x := range said {
		if x.Split() != split || x.By == "assistant" || arguable[x.Kind] {
			continue
		}
		s := sample{turn: memory.Turn{Role: memory.RoleUser, Text: x.Text}, salient: !tellsNothing[x.Kind],
			weight: weightStatement}
		samples = append(samples, s)
		if s.salient {
			telling = append(telling, s)
		}
	}
	return samples, idle, telling, nil
}

// learnedFrom returns all training samples.
func learnedFrom(o FilterOptions) ([]sample, error) {
	samples, err := madeUp(o.Seed, synthesis.SplitTrain, o.Persons)
	if err != nil {
		return nil, err
	}
	spoken, idle, telling, err := people(corpus.Train)
	if err != nil {
		return nil, err
	}
	samples = append(samples, spoken...)
	r := rand.New(rand.NewPCG(o.Seed, 0))
	for range joinedTurns {
		a, b := idle[r.IntN(len(idle))], idle[r.IntN(len(idle))]
		if r.IntN(2) == 0 {
			b = telling[r.IntN(len(telling))]
		}
		first, second := a.turn.Text, b.turn.Text
		if r.IntN(2) == 0 {
			first, second = second, first
		}
		a.turn.Text, a.salient, a.weight = first+" "+second, b.salient, weightJoined
		samples = append(samples, a)
	}
	return samples, nil
}
