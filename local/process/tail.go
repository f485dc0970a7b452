package process

import (
	"bytes"
	"io"
	"os"
	"strings"
)

// Limits of a log quotation in an error message.
const (
	tailBytes = 16 << 10
	tailLines = 20
)

// tailOf returns the last lines of a file after an offset, or the reason why it cannot read them.
func tailOf(file string, from int64) string {
	f, err := os.Open(file)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(from, size-tailBytes), io.SeekStart)
	}
	raw, err := io.ReadAll(io.LimitReader(f, tailBytes))
	if err != nil {
		return "(log unreadable: " + err.Error() + ")"
	}
	return LastLines(raw)
}

// LastLines returns the last non-empty lines of a program's output, indented for an error message.
func LastLines(raw []byte) string {
	var lines []string
	for line := range bytes.Lines(raw) {
		if text := strings.TrimRight(string(line), "\r\n"); text != "" {
			lines = append(lines, "  "+text)
		}
	}
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return strings.Join(lines, "\n")
}
