package dataset_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/memory"
)

// The contents of these files are invented.
const (
	locomoFile      = "testdata/locomo.json"
	longMemEvalFile = "testdata/longmemeval.json"
	personaMemFile  = "testdata/questions_tiny.csv"
	personaMemTurns = "testdata/shared_contexts_tiny.jsonl"
	haluMemFile     = "testdata/halumem.jsonl"
)

func readAll(t *testing.T, path string, o dataset.ReadOptions) ([]dataset.Subject, dataset.Repairs) {
	t.Helper()
	subjects, repairs, err := dataset.ReadSubjects(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return subjects, repairs
}

// contents returns the contents of a file in testdata.
func contents(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// checkSound checks the invariants of every subject. Turn ids are unique, and turns are in order of time within their
// session. Sessions belong to the user and have unique ids. Evidence names existing turns.
func checkSound(t *testing.T, subjects []dataset.Subject) {
	t.Helper()
	users := map[string]bool{}
	for _, s := range subjects {
		if s.Scope.User == "" || users[s.Scope.User] {
			t.Errorf("user %q is empty or comes twice", s.Scope.User)
		}
		users[s.Scope.User] = true
		turns, sessions := map[string]bool{}, map[string]bool{}
		for _, session := range s.Sessions {
			if session.User != s.Scope.User || sessions[session.ID] || len(session.Turns) == 0 {
				t.Errorf("session %q of %q: empty, a second one, or of another user", session.ID, s.Scope.User)
			}
			sessions[session.ID] = true
			for i, turn := range session.Turns {
				if turns[turn.ID] || turn.SessionID != session.ID || turn.Text == "" {
					t.Errorf("turn %q of %q: empty, a second one, or of another session", turn.ID, session.ID)
				}
				if i > 0 && !turn.Time.After(session.Turns[i-1].Time) {
					t.Errorf("turn %q is not after the one before", turn.ID)
				}
				turns[turn.ID] = true
			}
		}
		for _, q := range s.Questions {
			checkQuestion(t, q, turns, sessions)
		}
	}
}

func checkQuestion(t *testing.T, q dataset.Question, turns, sessions map[string]bool) {
	t.Helper()
	if q.Text == "" || q.Category == "" {
		t.Errorf("question without text or category: %+v", q)
	}
	for _, id := range q.Evidence {
		if !turns[id] {
			t.Errorf("evidence %q is no turn", id)
		}
	}
	for _, id := range q.EvidenceSessions {
		if !sessions[id] {
			t.Errorf("evidence %q is no session", id)
		}
	}
	if len(q.Options) > 0 && !slices.Contains(q.Options, q.Answer) {
		t.Errorf("the answer %q is none of %q", q.Answer, q.Options)
	}
}

func TestAFormatIsToldByWhatIsInIt(t *testing.T) {
	for name, tc := range map[string]struct {
		file, category string
		users          int
	}{
		"LoCoMo":      {locomoFile, "multi-hop", 1},
		"LongMemEval": {longMemEvalFile, "single-session-user", 3},
		"HaluMem":     {haluMemFile, "Basic Fact Recall", 2},
		"PersonaMem":  {personaMemFile, "recall_user_shared_facts", 3},
	} {
		t.Run(name, func(t *testing.T) {
			misnamed := write(t, "conversations.txt", "\xef\xbb\xbf \n"+contents(t, tc.file))
			subjects, _ := readAll(t, misnamed, dataset.ReadOptions{Tenant: "acme", Contexts: personaMemTurns})
			if len(subjects) != tc.users || subjects[0].Scope.Tenant != "acme" {
				t.Fatalf("read %d users, the first is %+v; want %d of acme", len(subjects), subjects[0].Scope, tc.users)
			}
			if got := subjects[0].Questions[0].Category; got != tc.category {
				t.Errorf("the first question is of %q, want %q", got, tc.category)
			}
			checkSound(t, subjects)
		})
	}
}

func TestReadLoCoMoWithItsQuestions(t *testing.T) {
	subjects, repairs := readAll(t, locomoFile, dataset.ReadOptions{})
	s := subjects[0]
	var categories []string
	for _, q := range s.Questions {
		categories = append(categories, q.Category)
		if q.Unanswerable != (q.Category == "adversarial") || q.SingleHop != (q.Category == "single-hop") {
			t.Errorf("%s: unanswerable %v, single-hop %v", q.Category, q.Unanswerable, q.SingleHop)
		}
	}
	want := []string{"multi-hop", "temporal", "open-domain", "single-hop", "adversarial", "adversarial"}
	if !slices.Equal(categories,
		want,
	) {
		t.Errorf("categories %q, want %q", categories, want)
	}
	if got := s.Questions[0]; !slices.Equal(got.Evidence, []string{"D1:1", "D2:2"}) || got.Answer != "3" {
		t.Errorf("joined evidence and a number for an answer: %+v", got)
	}
	if s.Questions[4].Answer != "" || s.Questions[5].Answer != "No" {
		t.Errorf("adversarial answers %q and %q, want none and No", s.Questions[4].Answer, s.Questions[5].Answer)
	}
	if want := (dataset.Repairs{Repaired: 3, Dropped: 2, Unanswerable: 2}); repairs != want {
		t.Errorf("repairs %+v, want %+v", repairs, want)
	}
}

func TestObservationsAreReadBySession(t *testing.T) {
	got, repairs, err := dataset.Observations(locomoFile)
	if err != nil {
		t.Fatal(err)
	}
	first, second := got["yard"]["session_1"], got["yard"]["session_2"]
	if len(first) != 2 || first[0].Speaker != "Odile" || !slices.Equal(first[0].Turns, []string{"D1:2"}) ||
		first[1].Speaker != "Tam" {
		t.Errorf("session 1: %+v", first)
	}
	if len(second) != 2 || !slices.Equal(second[0].Turns, []string{"D2:1", "D1:1"}) || second[1].Turns != nil {
		t.Errorf("session 2: %+v", second)
	}
	if want := (dataset.Repairs{Repaired: 1, Dropped: 1}); repairs != want {
		t.Errorf("repairs %+v, want %+v", repairs, want)
	}
	for what, file := range map[string]string{
		"another format": longMemEvalFile, "no observations": write(t, "none.json", `[{"sample_id":"x","conversation":{}}]`),
	} {
		if got, _, err := dataset.Observations(file); got != nil || !errors.Is(err, dataset.ErrNoObservations) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}

func TestReadLongMemEval(t *testing.T) {
	subjects, repairs := readAll(t, longMemEvalFile, dataset.ReadOptions{})
	kayak, count, abstain := subjects[0], subjects[1], subjects[2]
	q := kayak.Questions[0]
	if !slices.Equal(q.Evidence, []string{"answer_k:2"}) || !slices.Equal(q.EvidenceSessions, []string{"answer_k"}) ||
		!q.SingleHop {
		t.Errorf("evidence of %+v", q)
	}
	var order []string
	for _, s := range kayak.Sessions {
		order = append(order, s.ID)
	}
	if want := []string{"fill_1", "fill_1#2", "answer_k"}; !slices.Equal(order, want) {
		t.Errorf("sessions %q, want %q", order, want)
	}
	if want := time.Date(2022, 3, 9, 18, 5, 0, 0, time.UTC); !q.AskedAt.Equal(want) {
		t.Errorf("asked at %s, want %s", q.AskedAt, want)
	}
	late := count.Questions[0]
	if late.Answer != "2" || late.SingleHop || len(late.Evidence) != 2 || !late.AskedAt.Equal(count.Sessions[1].End()) {
		t.Errorf("a question dated before its last session: %+v", late)
	}
	if !abstain.Questions[0].Unanswerable || q.Unanswerable {
		t.Error("only questions that end in _abs are unanswerable")
	}
	if want := (dataset.Repairs{Renamed: 1, Empty: 1, Late: 1, Dropped: 1}); repairs != want {
		t.Errorf("repairs %+v, want %+v", repairs, want)
	}
}

func TestReadPersonaMem(t *testing.T) {
	subjects, repairs := readAll(t, personaMemFile,
		dataset.ReadOptions{Began: time.Date(2020, 5, 6, 7, 0, 0, 0, time.UTC)})
	got := []string{subjects[0].Scope.User, subjects[1].Scope.User, subjects[2].Scope.User}
	if !slices.Equal(got, []string{"c1@4", "c1@6", "c2@2"}) {
		t.Fatalf("users %q", got)
	}
	early, whole := subjects[0], subjects[1]
	if len(early.Sessions) != 2 || len(early.Sessions[1].Turns) != 0+1 || len(whole.Sessions[1].Turns) != 2 {
		t.Errorf("after 4 messages %+v; after 6 %+v", early.Sessions, whole.Sessions)
	}
	first := whole.Sessions[0].Turns[0]
	if first.ID != "s1:1" || first.Text != "I keep bees on the roof." || first.Speaker != "user" ||
		first.Time.Year() != 2020 {
		t.Errorf("first turn %+v", first)
	}
	for _, s := range subjects {
		for _, session := range s.Sessions {
			for _, turn := range session.Turns {
				if strings.Contains(turn.Text, "persona") {
					t.Errorf("the persona is told: %+v", turn)
				}
			}
		}
	}
	q := early.Questions[0]
	if len(early.Questions) != 2 || q.Answer != "You keep \"bees\", don't you?" || len(q.Options) != 2 ||
		!q.AskedAt.IsZero() {
		t.Errorf("questions %+v", early.Questions)
	}
	if want := (dataset.Repairs{Unasked: 1, Repaired: 1}); repairs != want {
		t.Errorf("repairs %+v, want %+v", repairs, want)
	}
}

func TestReadHaluMem(t *testing.T) {
	subjects, repairs := readAll(t, haluMemFile, dataset.ReadOptions{})
	s := subjects[0]
	if len(s.Sessions) != 3 || s.Sessions[0].ID != "s1" || s.Sessions[1].ID != "s3" || s.Sessions[2].ID != "s2" {
		t.Fatalf("sessions %+v, want the third before the second, which is later", s.Sessions)
	}
	fact, boundary, update := s.Questions[0], s.Questions[1], s.Questions[2]
	if !slices.Equal(fact.EvidenceSessions, []string{"s1"}) || fact.Evidence != nil ||
		!fact.AskedAt.Equal(s.Sessions[0].End()) {
		t.Errorf("fact %+v", fact)
	}
	if !boundary.Unanswerable || boundary.EvidenceSessions != nil || fact.Unanswerable || update.Unanswerable {
		t.Errorf("boundary %+v", boundary)
	}
	if !slices.Equal(update.EvidenceSessions, []string{"s1", "s2"}) || !update.AskedAt.After(boundary.AskedAt) {
		t.Errorf("update %+v", update)
	}
	if want := (dataset.Repairs{Dropped: 1, Empty: 1}); repairs != want {
		t.Errorf("repairs %+v, want %+v", repairs, want)
	}
}

func TestPersonaMemsConversationsAreFoundBesideItsQuestions(t *testing.T) {
	dir := t.TempDir()
	put := func(name, from string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(contents(t, from)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	questions := put("asked.csv", personaMemFile)
	if _, _, err := dataset.ReadSubjects(questions, dataset.ReadOptions{}); !errors.Is(err, dataset.ErrFormat) {
		t.Errorf("without conversations: %v", err)
	}
	put("talks.jsonl", personaMemTurns)
	readAll(t, questions, dataset.ReadOptions{})
	put("more.jsonl", personaMemTurns)
	if _, _, err := dataset.ReadSubjects(questions, dataset.ReadOptions{}); !errors.Is(err, dataset.ErrFormat) {
		t.Errorf("with two that could be them: %v", err)
	}
	_, _, err := dataset.ReadSubjects(questions, dataset.ReadOptions{Contexts: filepath.Join(dir, "none")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("with a file that is not there: %v", err)
	}
}

func TestLinesHaveNoQuestions(t *testing.T) {
	path := write(t, "s.jsonl", `{"user_id":"ana","session_id":"s1","turn_id":"t1","time":"2024-05-06T09:30:00Z","text":"I live in Porto."}
{"user_id":"ben","session_id":"s1","turn_id":"t1","time":"2024-05-06T09:30:00Z","text":"I live in Braga."}
`)
	subjects, _, err := dataset.ReadSubjects(path, dataset.ReadOptions{})
	if err != nil || len(subjects) != 2 || subjects[0].Scope.User != "ana" || len(subjects[1].Sessions) != 1 ||
		subjects[0].Questions != nil {
		t.Errorf("got %+v, %v", subjects, err)
	}
	if _, _, err := dataset.ReadSubjects(write(t, "bad.json", `[{"qa": 1}]`), dataset.ReadOptions{}); err == nil {
		t.Error("a file that is neither was read")
	}
	if _, _, err := dataset.ReadSubjects(filepath.Join(t.TempDir(), "missing"), dataset.ReadOptions{}); err == nil {
		t.Error("a missing file was read")
	}
}

// write creates a file.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestATurnKeepsItsOffset(t *testing.T) {
	read := func(at string) memory.Turn {
		line := `{"user_id":"u","session_id":"s","text":"I quit today.","time":"` + at + `"}`
		sessions, _, err := dataset.Read(strings.NewReader(line), dataset.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return sessions[0].Turns[0]
	}
	east, utc := read("2026-03-02T07:30:00+09:00"), read("2026-03-01T22:30:00Z")
	if got := east.Time.Format(time.RFC3339); got != "2026-03-02T07:30:00+09:00" {
		t.Errorf("the time is %s", got)
	}
	if east.ID != utc.ID {
		t.Errorf("ids are %s and %s, want one for the same time", east.ID, utc.ID)
	}
}
