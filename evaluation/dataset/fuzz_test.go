package dataset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/dataset"
)

// checkRead checks the invariants of any read. An error is a format error without results; otherwise all turn ids
// differ.
func checkRead(t *testing.T, subjects []dataset.Subject, err error) {
	t.Helper()
	if err != nil {
		if subjects != nil || !errors.Is(err, dataset.ErrFormat) {
			t.Fatalf("error %v with %d subjects, want a format error alone", err, len(subjects))
		}
		return
	}
	for _, s := range subjects {
		seen := map[string]bool{}
		for _, session := range s.Sessions {
			for _, turn := range session.Turns {
				if seen[turn.ID] {
					t.Fatalf("turn %q of %q comes twice", turn.ID, s.Scope.User)
				}
				seen[turn.ID] = true
			}
		}
	}
}

func FuzzReadLongMemEval(f *testing.F) {
	f.Add(contents(f, longMemEvalFile))
	f.Add(`[{"question_id":"q","haystack_session_ids":["a","a","a#2"]}]`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, in string) {
		subjects, _, err := dataset.ReadLongMemEval(strings.NewReader(in), dataset.ReadOptions{})
		checkRead(t, subjects, err)
	})
}

func FuzzReadPersonaMem(f *testing.F) {
	f.Add(contents(f, personaMemFile), contents(f, personaMemTurns))
	f.Add("question_type,question,correct_answer,all_options,shared_context_id,end_index_in_shared_context\nt,q,(a),\"['x\\x41']\",c,1",
		`{"c":[]}`)
	f.Add("", `{"c":null}`)
	f.Fuzz(func(t *testing.T, questions, contexts string) {
		subjects, _, err := dataset.ReadPersonaMem(strings.NewReader(questions), strings.NewReader(contexts),
			dataset.ReadOptions{})
		checkRead(t, subjects, err)
	})
}

func FuzzReadHaluMem(f *testing.F) {
	f.Add(contents(f, haluMemFile))
	f.Add(`{"uuid":"u","sessions":[]} {"uuid":"u"}`)
	f.Fuzz(func(t *testing.T, in string) {
		subjects, _, err := dataset.ReadHaluMem(strings.NewReader(in), dataset.ReadOptions{})
		checkRead(t, subjects, err)
	})
}

// FuzzReadLoCoMo allows repeated turn ids, because the file itself gives them.
func FuzzReadLoCoMo(f *testing.F) {
	f.Add(contents(f, locomoFile))
	f.Add(`[{"sample_id":"x","conversation":{},"qa":[{"question":"q","category":5,"evidence":["D99999999999999999999:1"]}]}]`)
	f.Fuzz(func(t *testing.T, in string) {
		subjects, _, err := dataset.ReadLoCoMo(strings.NewReader(in), dataset.ReadOptions{})
		if err != nil && (subjects != nil || !errors.Is(err, dataset.ErrFormat)) {
			t.Fatalf("error %v with %d subjects, want a format error alone", err, len(subjects))
		}
	})
}

func FuzzObservations(f *testing.F) {
	f.Add(contents(f, locomoFile))
	f.Add(`[{"sample_id":"x","conversation":{},"observation":{"session_1_observation":{"a":[["s",null]]}}}]`)
	f.Fuzz(func(t *testing.T, in string) {
		got, _, err := dataset.Observations(write(t, "f", in))
		if err != nil && (got != nil || !errors.Is(err, dataset.ErrFormat)) {
			t.Fatalf("error %v, want a format error alone", err)
		}
	})
}
