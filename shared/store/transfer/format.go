// Package transfer writes a user's bank as JSON lines, and reads it back into an equal bank.
//
// The first line is a header. Each further line is a memory, a turn, a session record or the core block. Ids stay
// unchanged. An import under the same tenant and user gives an equal bank, byte for byte, in any installation. Under
// another user it gives the same memories with the same ids.
package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

const (
	// Format is the name of the line format.
	Format = "mneme-bank"
	// Version counts the changes of the line format. A build reads only one version.
	Version = 1
	// MaxLine limits a line, in bytes. An entry with its vector is far shorter.
	MaxLine = 1 << 20
)

// Header is the first line.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// User is the exported user. The tenant is not written.
	User string `json:"user"`
	// Model and Dimension belong to the embedding of the vectors.
	Model     string `json:"model"`
	Dimension int    `json:"dimension"`
	// Counts are the numbers of the following lines of each kind. Only the newest core block counts.
	Counts bank.Counts `json:"counts"`
}

// line is any line. Exactly one field is set.
type line struct {
	Header  *Header               `json:"header,omitempty"`
	Memory  *memory.Memory        `json:"memory,omitempty"`
	Turn    *memory.Turn          `json:"turn,omitempty"`
	Session *memory.SessionRecord `json:"session,omitempty"`
	Core    *memory.Core          `json:"core,omitempty"`
}

// Record is one line after the header. Exactly one of its pointers is set.
type Record struct {
	// Line is its number. The header is line 1.
	Line    int
	Memory  *memory.Memory
	Turn    *memory.Turn
	Session *memory.SessionRecord
	Core    *memory.Core
}

// ParseHeader parses the first line. Its errors are terminal, as all errors of this package about lines, and begin
// with line and field.
func ParseHeader(text []byte) (Header, error) {
	l, err := parse(1, text)
	if err != nil {
		return Header{}, err
	}
	h := l.Header
	switch {
	case h == nil:
		return Header{}, lineError(1, "header", "is missing, want the first line of an export")
	case h.Format != Format:
		return Header{}, lineError(1, "header.format", "is %q, want %q", h.Format, Format)
	case h.Version != Version:
		return Header{}, lineError(1, "header.version", "is %d, want %d: this build reads no other", h.Version, Version)
	case h.Dimension < 1:
		return Header{}, lineError(1, "header.dimension", "is %d, want more than 0", h.Dimension)
	case h.Counts.Memories < 0 || h.Counts.Turns < 0 || h.Counts.Sessions < 0 || h.Counts.Core < 0 || h.Counts.Core > 1:
		return Header{}, lineError(1, "header.counts", "are negative, or of several core blocks")
	}
	return *h, nil
}

// ParseRecord parses a further line.
func ParseRecord(number int, text []byte) (Record, error) {
	l, err := parse(number, text)
	if err != nil {
		return Record{}, err
	}
	if l.Header != nil {
		return Record{}, lineError(number, "header", "comes again, want it on line 1 only")
	}
	r := Record{Line: number, Memory: l.Memory, Turn: l.Turn, Session: l.Session, Core: l.Core}
	return r, onLine(number, r.check(time.Now()))
}

func parse(number int, text []byte) (line, error) {
	var l line
	if len(text) > MaxLine {
		return l, lineError(number, "", "has %d bytes, want at most %d", len(text), MaxLine)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return l, syntax(number, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return l, lineError(number, "", "has something after the object, want one object a line")
	}
	set := 0
	for _, is := range []bool{l.Header != nil, l.Memory != nil, l.Turn != nil, l.Session != nil, l.Core != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return l, lineError(number, "", "has %d of header, memory, turn, session and core, want one", set)
	}
	return l, nil
}

// syntax returns the decoder's error, with the field if the decoder knows it.
func syntax(number int, err error) error {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return lineError(number, kind.Field, "is a %s, want a %s", kind.Value, kind.Type)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return lineError(number, "", "ends in the middle, want one whole object")
	}
	return lineError(number, "", "cannot be read: %v", err)
}

// lineError returns an error about a field of a line.
func lineError(number int, field, format string, args ...any) error {
	place := fmt.Sprintf("line %d", number)
	if field != "" {
		place += ": " + field
	}
	return fault.Terminal(place, format, args...)
}

// onLine adds the line before the field of a terminal error.
func onLine(number int, err error) error {
	if err == nil {
		return nil
	}
	return lineError(number, fault.Field(err), "%w", cause(err))
}

// cause returns a terminal error without its field.
func cause(err error) error {
	if t, ok := errors.AsType[*fault.TerminalError](err); ok {
		return t.Err
	}
	return err
}

const (
	// pageBytes and pageLines limit a page of an import, unless one line alone is larger.
	pageBytes = 1 << 20
	pageLines = 500
)

// Pages splits an export into pages for separate imports.
type Pages struct {
	// Header is the export's header, and HeaderLine is its original text.
	Header     Header
	HeaderLine []byte

	in     *bufio.Reader
	next   []byte
	number int
}

// Page is a number of whole lines of an export.
type Page struct {
	Lines []byte
	// First is the number of the first line.
	First int
}

// NewPages reads the header.
func NewPages(r io.Reader) (*Pages, error) {
	p := &Pages{in: bufio.NewReaderSize(r, 64<<10), number: 1}
	head, err := p.line()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if p.Header, err = ParseHeader(head); err != nil {
		return nil, err
	}
	p.HeaderLine = head
	p.number = 2
	return p, nil
}

// Next returns the next page, or io.EOF after the last one. It accepts blank lines only at the end.
func (p *Pages) Next() (Page, error) {
	page := Page{First: p.number}
	for n := 0; n < pageLines; n++ {
		text := p.next
		p.next = nil
		if text == nil {
			var err error
			if text, err = p.filled(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return Page{}, err
			}
		}
		if n > 0 && len(page.Lines)+len(text) > pageBytes {
			p.next = text
			break
		}
		page.Lines = append(append(page.Lines, text...), '\n')
		p.number++
	}
	if len(page.Lines) == 0 {
		return page, io.EOF
	}
	return page, nil
}

// Finish checks that all objects in the header have been imported, because a file may be truncated.
func (p *Pages) Finish(imported bank.Counts) error {
	if imported != p.Header.Counts {
		return lineError(p.number, "", "is the end, but the header says %s, and only %s came",
			describeCounts(p.Header.Counts), describeCounts(imported))
	}
	return nil
}

// describeCounts returns the numbers as text for users.
func describeCounts(n bank.Counts) string {
	return fmt.Sprintf("%d memories, %d turns, %d sessions, %d core blocks", n.Memories, n.Turns, n.Sessions, n.Core)
}

// filled reads a line that is not blank. It skips blank lines only at the end of the file.
func (p *Pages) filled() ([]byte, error) {
	text, err := p.line()
	if err != nil || !blank(text) {
		return text, err
	}
	for err == nil && blank(text) {
		text, err = p.line()
	}
	if err != nil {
		return nil, err
	}
	return nil, lineError(p.number, "", "is empty, want one whole object")
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// line reads one line without its end. It returns io.EOF at the end of the file.
func (p *Pages) line() ([]byte, error) {
	var text []byte
	for {
		part, err := p.in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > MaxLine+1:
			return nil, lineError(p.number, "", "has more than %d bytes", MaxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read export: %w", err)
		case errors.Is(err, io.EOF) && len(text) == 0:
			return nil, io.EOF
		}
		for len(text) > 0 && (text[len(text)-1] == '\n' || text[len(text)-1] == '\r') {
			text = text[:len(text)-1]
		}
		return text, nil
	}
}
