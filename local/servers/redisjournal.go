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

// ErrDamagedJournal says that the journal of the embedded Redis is unreadable for another reason than an incomplete
// last line.
var ErrDamagedJournal = errors.New("redis journal damaged")

// journalFile is the journal in the directory.
const journalFile = nameRedis + ".journal"

// journalBounds are the conditions for a rewrite of the journal.
type journalBounds struct {
	// bytes is the size up to which growth never causes a rewrite. A larger journal is rewritten once it has doubled.
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

// line returns the entry in the journal's format.
func (e entry) line() []byte {
	raw, _ := json.Marshal(e) // a time and bytes always encode to JSON
	return append(raw, '\n')
}

// journal is the open file to which a server appends its writes.
type journal struct {
	path string
	file *os.File
	size int64
	// contents is the size written by the last rewrite.
	contents int64
	// expires is the first expiry among the keys of the last rewrite; zero without expiring keys.
	expires time.Time
}

// createJournal writes a journal of the commands to a temporary file and syncs it. install moves it to the path;
// discard removes it.
func createJournal(path string, c contents) (_ *journal, err error) {
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o644)
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

// follow appends another journal's lines from an offset.
func (j *journal) follow(other *journal, from int64) error {
	n, err := io.Copy(j.file, io.NewSectionReader(other.file, from, other.size-from))
	j.size += n
	return err
}

// install replaces the journal at its path by this one atomically.
func (j *journal) install() error { return os.Rename(j.file.Name(), j.path) }

func (j *journal) discard() error { return errors.Join(j.file.Close(), os.Remove(j.file.Name())) }

// append passes a line to the operating system, which keeps it if this process dies.
func (j *journal) append(line []byte) error {
	n, err := j.file.Write(line)
	j.size += int64(n)
	return err
}

// sync waits until the disk has the journal and its place at the path.
func (j *journal) sync() error {
	folder, err := os.Open(filepath.Dir(j.path))
	if err != nil {
		return err
	}
	return errors.Join(j.file.Sync(), folder.Sync(), folder.Close())
}

// large reports whether the journal's growth requires a rewrite.
func (j *journal) large(b journalBounds) bool { return j.size > max(b.bytes, 2*j.contents) }

// outdated reports whether the journal may contain deleted contents.
func (j *journal) outdated(now time.Time) bool {
	return j.size > j.contents || !j.expires.IsZero() && now.After(j.expires)
}

// readJournal returns the commands of a journal. It drops an incomplete line, because such a line was never
// acknowledged.
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
