package servers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// ErrDamagedJournal is returned when the journal of the embedded Redis cannot be read although it is not merely cut off.
var ErrDamagedJournal = errors.New("redis journal damaged")

const journalSuffix = ".journal"

// journalBounds say when a running server rewrites its journal.
type journalBounds struct {
	// bytes is the size up to which growth alone is no reason. A larger journal is rewritten once it has doubled.
	bytes int64
	// every is how long deleted contents may stay in the journal before a rewrite begins.
	every time.Duration
}

var usualBounds = journalBounds{bytes: 1 << 20, every: time.Minute}

// entry is one line of the journal: a command, and the server's time at which it ran.
type entry struct {
	At      time.Time `json:"at"`
	Command [][]byte  `json:"command"`
}

// line is the entry as the journal has it.
func (e entry) line() []byte {
	raw, _ := json.Marshal(e) // a time and bytes always have a form in JSON
	return append(raw, '\n')
}

// journal is the open file that a server appends its writes to.
type journal struct {
	path string
	file *os.File
	size int64
	// contents is how much of the size the last rewrite wrote.
	contents int64
	// expires is when the first of the keys expires that the last rewrite wrote; zero where none does.
	expires time.Time
}

// createJournal writes a journal of the commands beside the path, down to the disk. install puts it there, discard removes it.
func createJournal(path string, c contents) (_ *journal, err error) {
	file, err := os.OpenFile(path+newSuffix, os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	j := &journal{path: path, file: file, expires: c.expires}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.discard())
		}
	}()
	w := bufio.NewWriter(file)
	for _, e := range c.entries {
		n, err := w.Write(e.line())
		if err != nil {
			return nil, err
		}
		j.contents += int64(n)
	}
	j.size = j.contents
	return j, errors.Join(w.Flush(), file.Sync())
}

// follow appends the lines that another journal has from an offset on.
func (j *journal) follow(other *journal, from int64) error {
	n, err := io.Copy(j.file, io.NewSectionReader(other.file, from, other.size-from))
	j.size += n
	return err
}

// install puts a created journal in the place of the one at its path, in one step.
func (j *journal) install() error { return os.Rename(j.file.Name(), j.path) }

func (j *journal) discard() error { return errors.Join(j.file.Close(), os.Remove(j.file.Name())) }

// append hands a line to the operating system, which keeps it when this process dies.
func (j *journal) append(line []byte) error {
	n, err := j.file.Write(line)
	j.size += int64(n)
	return err
}

// sync waits until the disk has the journal, and that it is the one at its path.
func (j *journal) sync() error {
	folder, err := os.Open(filepath.Dir(j.path))
	if err != nil {
		return err
	}
	return errors.Join(j.file.Sync(), folder.Sync(), folder.Close())
}

// large says whether growth alone is a reason to rewrite the journal.
func (j *journal) large(b journalBounds) bool { return j.size > max(b.bytes, 2*j.contents) }

// outdated says whether the journal may hold contents that the server no longer has.
func (j *journal) outdated(now time.Time) bool {
	return j.size > j.contents || !j.expires.IsZero() && now.After(j.expires)
}

// readJournal returns the commands of a journal. A line without an end was never acknowledged, and is left out.
func readJournal(from io.Reader, path string) ([]entry, error) {
	var entries []entry
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read redis journal: %w", err)
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil || len(e.Command) == 0 {
			return nil, fmt.Errorf("%w: %s, line %d (%w)", ErrDamagedJournal, path, len(entries)+1, err)
		}
		entries = append(entries, e)
	}
}
