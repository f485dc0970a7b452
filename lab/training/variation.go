package training

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Shares of varied turns. They keep the model from learning accidental traits of synthetic dialogues.
const (
	shareJoin    = 0.35 // small talk stands before or behind the turn
	shareShout   = 0.7  // full stops become exclamation marks
	shareImage   = 0.06 // small talk becomes salient through a picture
	shareRole    = 0.1  // an assistant says it
	shareNoImage = 0.3  // the caption is taken off
	shareAside   = 0.3  // small talk becomes salient through a small statement
	shareAnswer  = 0.6  // share among those: a short answer alone, after a question
)

// madeUp makes people of a split and returns their turns as samples, varied by the seed.
func madeUp(seed uint64, split synthesis.Split, persons int) ([]sample, error) {
	g, err := synthesis.New(synthesis.Options{Seed: seed, Persons: persons, Split: split})
	if err != nil {
		return nil, fmt.Errorf("make dialogues: %w", err)
	}
	var out []sample
	for i := range persons {
		v := variation{g: g, r: rand.New(rand.NewPCG(seed, uint64(i)+1))}
		person := g.Person(i)
		v.fill(person)
		for _, s := range person.Sessions {
			for k, t := range s.Turns {
				if t.Kind == synthesis.KindEcho && t.Role == memory.RoleUser {
					continue // without the turn before, it looks like news
				}
				out = append(out, v.sample(s.Turns, k))
			}
		}
	}
	return out, nil
}

// variation varies the turns of one person.
type variation struct {
	g *synthesis.Generator
	r *rand.Rand
	// talk has the person's turns without facts, of both speakers.
	talk []string
	// images are captions.
	images []string
}

func (v *variation) fill(p synthesis.Person) {
	for _, s := range p.Sessions {
		for _, t := range s.Turns {
			if t.Caption != "" {
				v.images = append(v.images, t.Caption)
			}
			if !t.Salient && t.Kind != synthesis.KindHostile && t.Kind != synthesis.KindEcho && t.Role == memory.RoleUser {
				v.talk = append(v.talk, t.Text)
			}
		}
	}
}

// sample reads turn k of a session, varied.
func (v *variation) sample(turns []synthesis.Turn, k int) sample {
	t, salient := turns[k].Turn, turns[k].Salient
	if turns[k].Kind == synthesis.KindHostile {
		return sample{turn: t, salient: salient, weight: 1}
	}
	if !salient && t.Role == memory.RoleUser && v.chance(shareAside) {
		salient = true
		t.Text = v.aside(turns, k)
	}
	if !salient && len(v.images) > 0 && v.chance(shareImage) {
		salient, t.Caption = true, v.images[v.r.IntN(len(v.images))]
	} else if v.chance(shareNoImage) {
		t.Caption = ""
	}
	for v.chance(shareJoin) && len(v.talk) > 0 {
		t.Text = v.join(t.Text, v.talk[v.r.IntN(len(v.talk))])
	}
	if v.chance(shareShout) {
		t.Text = v.shout(t.Text)
	}
	if v.chance(shareRole) {
		t.Role = memory.RoleAssistant
	}
	return sample{turn: t, salient: salient, weight: 1}
}

// aside adds a small statement to a text. Where the statement answers, it replaces the text.
func (v *variation) aside(turns []synthesis.Turn, k int) string {
	t := turns[k].Turn
	asked := k > 0 && strings.HasSuffix(strings.TrimSpace(turns[k-1].Text), "?")
	if asked && v.chance(shareAnswer) {
		return v.g.Aside(v.r, t.Speaker, "", true)
	}
	text := v.g.Aside(v.r, t.Speaker, "", false)
	if v.chance(0.3) {
		return text
	}
	return v.join(t.Text, text)
}

// join puts two texts together, in either order.
func (v *variation) join(a, b string) string {
	if v.chance(0.5) {
		a, b = b, a
	}
	return a + " " + b
}

// shout makes every second full stop an exclamation mark.
func (v *variation) shout(text string) string {
	out := []byte(text)
	for i, c := range out {
		if c == '.' && (i+1 == len(out) || out[i+1] == ' ') && v.chance(0.5) {
			out[i] = '!'
		}
	}
	return string(out)
}

func (v *variation) chance(p float64) bool { return v.r.Float64() < p }
