package formationtest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// people has three made-up people, each of ten sessions, with the salient turns of each session. The laboratory's
// synthesis made them with seeds 100, 101 and 102.
//
//go:embed people.json
var people []byte

// People returns the sessions of three made-up people; a session has its salient turns.
func People(tb testing.TB) [][]formation.Session {
	tb.Helper()
	var read [][][]memory.Turn
	if err := json.Unmarshal(people, &read); err != nil {
		tb.Fatal(err)
	}
	out := make([][]formation.Session, len(read))
	for i, sessions := range read {
		for j, turns := range sessions {
			in := formation.Session{Scope: Scope(), ID: fmt.Sprintf("p%d:s%d", i, j), Turns: turns}
			for k := range in.Turns {
				in.Turns[k].SessionID = in.ID
			}
			out[i] = append(out[i], in)
		}
	}
	return out
}
