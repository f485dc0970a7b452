package features_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

var began = time.Date(2024, time.March, 4, 10, 0, 0, 0, time.UTC)

// talk is a conversation of Ida and Bruno in which each turn has one memory.
type talk struct {
	memories []memory.Memory
	turns    []memory.Turn
}

// say adds a turn and a memory that states it; the session is in the hour of its number.
func (c *talk) say(session int, speaker, text string) *memory.Memory {
	n := len(c.turns)
	at := began.AddDate(0, 0, 7*session).Add(time.Duration(n) * time.Minute)
	id := fmt.Sprintf("t%03d", n)
	role := memory.RoleUser
	if speaker == "Assistant" {
		role = memory.RoleAssistant
	}
	c.turns = append(c.turns, memory.Turn{ID: id, SessionID: fmt.Sprintf("s%d", session), Speaker: speaker, Role: role,
		Text: text, Time: at})
	c.memories = append(c.memories, memory.Memory{
		ID: "m" + id, Kind: memory.KindEpisodic, Content: speaker + " says: " + text, Sources: []string{id},
		SessionID: fmt.Sprintf("s%d", session), Status: memory.StatusActive, ValidFrom: at,
	})
	return &c.memories[n]
}

// asking returns a query with the messages before it, at the time of the first turn.
func asking(text string, messages ...memory.Message) features.Query {
	return askingAt(began, text, messages...)
}

func askingAt(now time.Time, text string, messages ...memory.Message) features.Query {
	return features.Query{Query: query.Understand(query.Input{Text: text, Messages: messages, Now: now})}
}

// ask returns each memory's numbers by name.
func (c *talk) ask(t *testing.T, q features.Query) map[string]map[string]float32 {
	t.Helper()
	return rowsOf(features.New(wordvector.Shipped(), c.memories, c.turns), q)
}

func rowsOf(x *features.Index, q features.Query) map[string]map[string]float32 {
	out := map[string]map[string]float32{}
	for _, c := range x.Candidates(q, make([]float32, len(features.Names())), x.Len()) {
		row := map[string]float32{}
		for i, name := range features.NumberNames() {
			row[name] = c.Numbers()[i]
		}
		out[c.Memory.ID] = row
	}
	return out
}

// chatter makes up a long conversation of so many memories, of words of the shipped table and others.
func chatter(n int) *talk {
	r := rand.New(rand.NewPCG(7, 7))
	stock := strings.Fields(`river garden violin mountain coffee engine window teacher morning bicycle doctor letter market kitchen
		summer winter concert painting ticket harbour sister brother neighbour village museum camera dinner recipe planet forest holiday
		budget meeting project hospital puppy kitten guitar library journey passport airport bakery blanket lantern ladder pottery theatre
		novel poem chess soccer tennis swimming cycling painting climbing cooking baking sewing gardening fishing sailing skating singing
		dancing drawing writing reading learning teaching building repairing cleaning walking running hiking happy tired proud nervous
		curious excited lonely grateful busy quiet`)
	c := &talk{}
	for i := range n {
		var words []string
		for range 12 + r.IntN(16) {
			w := stock[r.IntN(len(stock))]
			if r.IntN(3) == 0 { // words of no dictionary, as a long tail
				w = fmt.Sprintf("%s%c%c", w[:3], 'a'+r.IntN(26), 'a'+r.IntN(26))
			}
			words = append(words, w, []string{"the", "and", "is", "my", "to"}[r.IntN(5)])
		}
		m := c.say(i/12, []string{"Ida", "Bruno"}[i%2], strings.Join(words, " ")+".")
		m.Vector = make([]float32, 256)
		for k := range m.Vector {
			m.Vector[k] = float32(r.NormFloat64())
		}
	}
	return c
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
