package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/mneme-memory/mneme/shared/store/bank"
)

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
