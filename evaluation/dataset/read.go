package dataset

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// evaluated is the tenant that evaluation forms memory for; nothing of it leaves the process.
const evaluated = "evaluation"

// ReadOptions say how a file of conversations is read. The zero value is right for most.
type ReadOptions struct {
	// Tenant owns the subjects; empty means the tenant of evaluations.
	Tenant string
	// Contexts is the file of conversations that PersonaMem's questions are about. Empty means the one beside the
	// questions: shared_contexts_X.jsonl for questions_X.csv, or else the only .jsonl file there.
	Contexts string
	// Began is when the first session begins in files without any dates, which is PersonaMem; zero means noon of
	// 1 January 2024, UTC. The sessions after it begin a day after each other.
	Began time.Time
}

func (o ReadOptions) scope(user string) memory.Scope {
	if o.Tenant == "" {
		return memory.Scope{Tenant: evaluated, User: user}
	}
	return memory.Scope{Tenant: o.Tenant, User: user}
}

// Repairs counts what was wrong with a file and was read all the same.
type Repairs struct {
	// Repaired names of evidence were malformed and name a turn all the same. In PersonaMem it is the questions that are
	// said to be asked after more messages than there are.
	Repaired int `json:"repaired"`
	// Dropped names of evidence name nothing that is in the file.
	Dropped int `json:"dropped"`
	// Unanswerable is how many names were repaired or dropped in the evidence of LoCoMo's adversarial questions; Repaired
	// and Dropped do not count them.
	Unanswerable int `json:"unanswerable"`
	// Renamed sessions had an id that another one of the same user has.
	Renamed int `json:"renamed_sessions"`
	// Empty turns have no text; they were passed over.
	Empty int `json:"empty_turns"`
	// Late sessions are dated after the question that is asked about them; the question was put off until they ended.
	Late int `json:"late_sessions"`
	// Unasked questions cannot be asked, as it is not known after what; they were passed over.
	Unasked int `json:"unasked_questions"`
}

// ReadSubjects reads a file of conversations, with what is asked about them if it has questions. What is in the file tells its
// format, not its name: LoCoMo (ReadLoCoMo), LongMemEval (ReadLongMemEval), PersonaMem's questions (ReadPersonaMem), HaluMem
// (ReadHaluMem), or JSON lines of turns, which have no questions. A file that is none of them, or that breaks the rules of its
// format, is an ErrFormat.
func ReadSubjects(path string, o ReadOptions) ([]Subject, Repairs, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Repairs{}, err
	}
	defer f.Close()
	read, err := recognise(f)
	if err != nil {
		return nil, Repairs{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, Repairs{}, err
	}
	switch read {
	case formatLoCoMo:
		return ReadLoCoMo(f, o)
	case formatLongMemEval:
		return ReadLongMemEval(f, o)
	case formatHaluMem:
		return ReadHaluMem(f, o)
	case formatPersonaMem:
		return readPersonaMemAt(path, f, o)
	}
	return readTurns(f, o)
}

// format is one that can be told from a file's beginning.
type format int

const (
	formatTurns format = iota
	formatLoCoMo
	formatLongMemEval
	formatPersonaMem
	formatHaluMem
)

// recognise tells the format by the first character that is no space, and by the fields of the first object.
func recognise(r io.Reader) (format, error) {
	b := plain(r)
	c, err := firstByte(b)
	if err != nil {
		return formatTurns, err
	}
	switch c {
	case '[':
		fields := firstObject(b, true)
		if fields["question_id"] || fields["haystack_sessions"] {
			return formatLongMemEval, nil
		}
		return formatLoCoMo, nil
	case '{':
		fields := firstObject(b, false)
		if !fields["user_id"] && (fields["uuid"] || fields["sessions"]) {
			return formatHaluMem, nil
		}
		return formatTurns, nil
	}
	header, err := csv.NewReader(b).Read()
	if err != nil {
		return formatTurns, nil //nolint:nilerr // what is no table is read as turns, which says what is wrong
	}
	for _, name := range header {
		if strings.TrimSpace(name) == columnContext {
			return formatPersonaMem, nil
		}
	}
	return formatTurns, nil
}

// firstObject returns the names of the first object's fields; none for what is not JSON.
func firstObject(r io.Reader, listed bool) map[string]bool {
	d := json.NewDecoder(r)
	if listed {
		if _, err := d.Token(); err != nil {
			return nil
		}
	}
	var object map[string]json.RawMessage
	if d.Decode(&object) != nil {
		return nil
	}
	out := map[string]bool{}
	for name := range object {
		out[name] = true
	}
	return out
}

// readPersonaMemAt finds the conversations that a file of questions is about.
func readPersonaMemAt(path string, questions io.Reader, o ReadOptions) ([]Subject, Repairs, error) {
	at := o.Contexts
	if at == "" {
		var err error
		if at, err = contextsBeside(path); err != nil {
			return nil, Repairs{}, err
		}
	}
	contexts, err := os.Open(at)
	if err != nil {
		return nil, Repairs{}, fmt.Errorf("the conversations of %s: %w", filepath.Base(path), err)
	}
	defer contexts.Close()
	return ReadPersonaMem(questions, contexts, o)
}

func contextsBeside(path string) (string, error) {
	dir, name := filepath.Split(path)
	size := strings.TrimPrefix(strings.TrimSuffix(name, filepath.Ext(name)), "questions")
	named := filepath.Join(dir, "shared_contexts"+size+".jsonl")
	if _, err := os.Stat(named); err == nil {
		return named, nil
	}
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".jsonl" {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%w: %s holds PersonaMem's questions, and beside it are %d files that could be their conversations, want %s or one",
			ErrFormat, name, len(found), filepath.Base(named))
	}
	return found[0], nil
}

func readTurns(r io.Reader, o ReadOptions) ([]Subject, Repairs, error) {
	sessions, err := Read(r)
	if err != nil {
		return nil, Repairs{}, err
	}
	var out []Subject
	place := map[string]int{}
	for _, s := range sessions {
		i, ok := place[s.User]
		if !ok {
			i = len(out)
			place[s.User] = i
			out = append(out, Subject{Scope: o.scope(s.User)})
		}
		out[i].Sessions = append(out[i].Sessions, s)
	}
	return out, Repairs{}, nil
}
