package corpus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestTalks(t *testing.T) {
	requests := map[string]int{}
	for _, split := range []corpus.Split{corpus.Choose, corpus.Heldout} {
		talks, err := corpus.Talks(split)
		if err != nil || len(talks) == 0 {
			t.Fatalf("%s: %d talks, %v", split, len(talks), err)
		}
		for _, k := range talks {
			for _, r := range k.Requests {
				requests[r.Kind]++
				var messages []memory.Message
				for _, m := range r.Messages {
					messages = append(messages, memory.Message(m))
				}
				if err := memory.ValidMessages(messages); err != nil {
					t.Errorf("%s: %q: a request would be refused: %v", k.Who, r.Query, err)
				}
			}
		}
	}
	if f, s := requests[corpus.FollowUp], requests[corpus.Switch]; f < 60 || 2*s < f {
		t.Errorf("%d follow-ups and %d switches, want at least 60, and a switch for two", f, s)
	}
	if talks, err := corpus.Talks(corpus.Train); err != nil || len(talks) != 0 {
		t.Errorf("%d talks are trained on, %v", len(talks), err)
	}
}

const goodTalk = `{"who":"Ana, 30","speaker":"Ana","memories":["I hate fish."],"requests":[{"kind":"switch",` +
	`"messages":[{"role":"user","content":"Hello"}],"query":"Dinner?","needs":[0]}]}`

func TestReadTalksRefusesWhatIsNone(t *testing.T) {
	if talks, err := corpus.ReadTalks("x", []byte(goodTalk+"\n\n")); err != nil || len(talks) != 1 ||
		talks[0].Batch != "x" {
		t.Fatalf("%v, %v", talks, err)
	}
	for name, change := range map[string][2]string{
		"nobody": {`"Ana, 30"`, `""`}, "an empty memory": {`I hate fish.`, ` `}, "another kind": {`"switch"`, `"turn"`},
		"no messages": {`{"role":"user","content":"Hello"}`, ``}, "a role that is none": {`"role":"user"`, `"role":"system"`},
		"a message of nothing": {`Hello`, ` `}, "no query": {`Dinner?`, ``},
		"nothing needed": {`[0]`, `[]`}, "a memory too many": {`[0]`, `[1]`},
		"a field too many": {`"kind"`, `"sort":"","kind"`}, "no JSON": {`{"who"`, `who`},
	} {
		line := strings.Replace(goodTalk, change[0], change[1], 1)
		if _, err := corpus.ReadTalks("x", []byte(goodTalk+"\n"+line)); line == goodTalk || !errors.Is(err, corpus.ErrTalk) ||
			!strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
