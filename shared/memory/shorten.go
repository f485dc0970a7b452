package memory

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// markOpens and markCloses stand around the number of bytes that Shorten left out.
	markOpens, markCloses = "[... ", " bytes left out ...]"
	// maxMark limits the mark with its line breaks, in bytes.
	maxMark = 64
	// maxToLine limits the part of an end that Shorten gives up for a cut between lines, in bytes.
	maxToLine = 1 << 10
	// leastShortened is less than the size of every shortened text, in bytes. A text without its invisible characters
	// is smaller. MarkOfShorten finds no mark in it if these were about half of the text.
	leastShortened = MaxTextBytes / 2
)

// Shorten limits the text of a turn to MaxTextBytes. It keeps the first and the last part of a longer text, with a mark
// on a line between them: "[... 412,332 bytes left out ...]". It cuts between lines where a line ends within a KiB of
// the limit, otherwise between characters. It returns a shorter text unchanged, with 0. The text must be valid UTF-8.
func Shorten(text string) (short string, leftOut int) {
	if len(text) <= MaxTextBytes {
		return text, 0
	}
	const end = (MaxTextBytes - maxMark) / 2
	from, to := end, len(text)-end
	for !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	if at := strings.LastIndexByte(text[from-maxToLine:from], '\n'); at >= 0 {
		from += at + 1 - maxToLine
	}
	if at := strings.IndexByte(text[to:to+maxToLine], '\n'); at >= 0 {
		to += at + 1
	}
	leftOut = to - from
	mark := markOpens + grouped(leftOut) + markCloses + "\n"
	if text[from-1] != '\n' {
		mark = "\n" + mark
	}
	return text[:from] + mark + text[to:], leftOut
}

// MarkOfShorten returns the place of the mark in a text that Shorten shortened, in bytes. ok is false for other texts.
func MarkOfShorten(text string) (from, to int, ok bool) {
	if len(text) < leastShortened {
		return 0, 0, false
	}
	for line := range strings.Lines(text) {
		from, to = to, to+len(line)
		number, opens := strings.CutPrefix(line, markOpens)
		number, closes := strings.CutSuffix(number, markCloses+"\n")
		if opens && closes && len(number) > 0 && strings.Trim(number, "0123456789,") == "" {
			return from, to, true
		}
	}
	return 0, 0, false
}

// grouped writes a number with a comma between groups of three digits.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
