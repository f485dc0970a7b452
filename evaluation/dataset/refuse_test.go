package dataset_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/dataset"
)

// refuse checks that the reader refuses a file and that the error names the place.
func refuse(t *testing.T, text string, names ...string) {
	t.Helper()
	_, _, err := dataset.ReadSubjects(write(t, "f", text), dataset.ReadOptions{Contexts: personaMemTurns})
	if !errors.Is(err, dataset.ErrFormat) {
		t.Fatalf("error %v, want a format error", err)
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not name %q", err, name)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		file, old, new string
		names          []string
	}{
		"LoCoMo category": {locomoFile, `"category": 3`, `"category": 6`, []string{"yard", "qa 2", "category"}},
		"LoCoMo question": {locomoFile, `"question": "When`, `"asked": "When`,
			[]string{"yard", "qa 1", "question"}},
		"LoCoMo answer": {locomoFile, `"answer": 3,`, ``, []string{"yard", "qa 0", "answer"}},
		"LongMemEval date": {longMemEvalFile, `"question_date": "2022/03/09 (Wed) 18:05",`, ``,
			[]string{"q_kayak", "question_date"}},
		"LongMemEval misdated": {longMemEvalFile, `2022/03/09 (Wed) 18:05`, `tomorrow`,
			[]string{"q_kayak", "question_date", "tomorrow"}},
		"LongMemEval session's date": {longMemEvalFile, `"2022/03/01 (Tue) 09:00", `, ``,
			[]string{"q_kayak", "haystack_dates"}},
		"LongMemEval content": {longMemEvalFile, `"content": "Hello"`, `"text": "Hello"`,
			[]string{"q_kayak", "fill_1", "content"}},
		"LongMemEval role": {longMemEvalFile, `"role": "assistant", "content": "Nice`, `"role": "robot", "content": "Nice`,
			[]string{"answer_k", "robot"}},
		"LongMemEval answer sessions": {longMemEvalFile, `"answer_session_ids": ["answer_k"]`, `"x": 1`,
			[]string{"q_kayak", "answer_session_ids"}},
		"LongMemEval twice":  {longMemEvalFile, `"q_count"`, `"q_kayak"`, []string{"q_kayak", "repeated"}},
		"PersonaMem column":  {personaMemFile, "correct_answer", "right", []string{"correct_answer"}},
		"PersonaMem answer":  {personaMemFile, "(b)", "(z)", []string{"line 2", "correct_answer"}},
		"PersonaMem end":     {personaMemFile, "c1,4", "c1,four", []string{"line 2", "end_index_in_shared_context"}},
		"PersonaMem context": {personaMemFile, "c1,4", "c9,4", []string{"line 2", "c9"}},
		"HaluMem uuid":       {haluMemFile, `"uuid": "u-1", `, ``, []string{"user 1", "uuid"}},
		"HaluMem timestamp": {haluMemFile, `"timestamp": "Apr 02, 2031, 10:00:00"`, `"x": 1`,
			[]string{"u-1", "session 0", "turn 0", "timestamp"}},
		"HaluMem end": {haluMemFile, `"end_time": "Apr 02, 2031, 10:20:00"`, `"end_time": "late"`,
			[]string{"u-1", "session 0", "end_time", "late"}},
		"HaluMem evidence": {haluMemFile, `"evidence": [], `, ``, []string{"u-1", "question 1", "evidence"}},
		"HaluMem type": {haluMemFile, `"question_type": "Basic Fact Recall"`, `"x": 1`,
			[]string{"u-1", "question 0", "question_type"}},
	} {
		t.Run(name, func(t *testing.T) {
			whole := contents(t, tc.file)
			broken := strings.Replace(whole, tc.old, tc.new, 1)
			if broken == whole {
				t.Fatalf("there is no %q in %s", tc.old, tc.file)
			}
			refuse(t, broken, tc.names...)
		})
	}
	t.Run("nothing", func(t *testing.T) { refuse(t, " \n", "empty") })
	t.Run("cut off", func(t *testing.T) { refuse(t, contents(t, longMemEvalFile)[:900], "LongMemEval") })
}

// Options are a list in Python's notation, which is not JSON.
func TestPersonaMemsOptionsAreRead(t *testing.T) {
	for name, tc := range map[string]struct {
		options, right string
		want           []string
		answer         string
	}{
		"single quotes": {`['(a) Tea', '(b) Rye']`, "(b)", []string{"Tea", "Rye"}, "Rye"},
		"both quotes": {`['(a) a "tall" one', "(b) it's small"]`, "(a)", []string{`a "tall" one`, "it's small"},
			`a "tall" one`},
		"JSON": {`["(a) Tea\u00e9", "(b) Rye"]`, "a", []string{"Teaé", "Rye"}, "Teaé"},
		"escapes": {`['(a) x\ty\nz\\', '(b) caf\xe9 \U0001F41D \q']`, "(b)", []string{"x\ty\nz\\", "café 🐝 \\q"},
			"café 🐝 \\q"},
		"without letters": {`['Tea' , 'Rye',]`, "(B)", []string{"Tea", "Rye"}, "Rye"},
		"out of order":    {`['(b) Tea', '(a) Rye']`, "(a)", []string{"Tea", "Rye"}, "Rye"},
	} {
		t.Run(name, func(t *testing.T) {
			subjects, _, err := ask(tc.options, tc.right)
			if err != nil {
				t.Fatal(err)
			}
			if q := subjects[0].Questions[0]; !slices.Equal(q.Options, tc.want) || q.Answer != tc.answer {
				t.Errorf("options %q, answer %q; want %q, %q", q.Options, q.Answer, tc.want, tc.answer)
			}
		})
	}
	for name, options := range map[string]string{
		"no list": `(a) Tea`, "no comma": `['(a) Tea' '(b) Rye']`, "open": `['(a) Tea`, "open text": `['(a) Tea]`,
		"half an escape": `['(a) \x4']`,
		"no quotes":      `[Tea]`, "empty": `['(a) ']`, "none": `[]`, "twice": `['(a) Tea', '(a) Rye']`,
		"surrogate": `['(a) \ud800']`, "backslash": `['\`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := ask(options, "(a)"); !errors.Is(err, dataset.ErrFormat) || !strings.Contains(err.Error(), "line 2") {
				t.Errorf("error %v, want a format error that names line 2", err)
			}
		})
	}
}

// ask reads one question in PersonaMem's form.
func ask(options, right string) ([]dataset.Subject, dataset.Repairs, error) {
	questions := fmt.Sprintf("question_type,user_question_or_message,correct_answer,all_options,"+
		"shared_context_id,end_index_in_shared_context\nt,What?,%s,\"%s\",c,1\n", right,
		strings.ReplaceAll(options, `"`, `""`))
	return dataset.ReadPersonaMem(strings.NewReader(questions),
		strings.NewReader(`{"c":[{"role":"user","content":"Hi"}]}`),
		dataset.ReadOptions{})
}

// A turn id is unique per user. Otherwise a line with another session or text would be lost silently. A repeated turn
// is allowed, and two users may use the same id.
func TestATurnIDNamesOneTurnOfAUser(t *testing.T) {
	line := func(user, session, text string) string {
		return fmt.Sprintf(`{"user_id":%q,"session_id":%q,"turn_id":"1","text":%q,"time":"2026-03-01T10:00:00Z"}`+"\n", user,
			session, text)
	}
	first := line("ana", "mon", "I live in Porto.")
	refuse(t, first+"\n"+line("ana", "tue", "I live in Porto."), "line 3", "turn_id", `"1"`, "line 1", "unique per user")
	refuse(t, first+line("ana", "mon", "I live in Lyon."), "line 2", "turn_id", "unique per user")
	refuse(t, first+strings.Replace(first, `"text"`, `"caption":"a map","text"`, 1), "line 2", "turn_id",
		"unique per user")
	sessions, err := read(strings.NewReader(first + first + line("ben", "tue", "I live in Lyon.")))
	if err != nil || len(sessions) != 2 || len(sessions[0].Turns) != 1 {
		t.Errorf("read %+v, %v, want the turn that came again once, and that of the other user", sessions, err)
	}
}
