package layers_test

import (
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostColumns is the longest line of Go, in characters.
const mostColumns = 120

// longLiteral is the length of a text that may make a line longer, because a reader or a search wants it whole.
const longLiteral = 50

// TestLinesAreShort finds long lines. A line may be long around a long raw string. In a test, it may have one
// long text.
func TestLinesAreShort(t *testing.T) {
	for name := range list(t) {
		code, tests := goFiles(t, name)
		for _, file := range append(code, tests...) {
			for _, line := range longLines(t, file) {
				t.Errorf("%s:%d: is longer than %d characters", file, line, mostColumns)
			}
		}
	}
}

// longLines returns the numbers of a file's long lines. A generated file has none.
func longLines(t *testing.T, file string) (long []int) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(src)
	if strings.Contains(text, "DO NOT EDIT.") {
		return nil
	}
	may := linesOfTexts(src, strings.HasSuffix(file, "_test.go"))
	for i, line := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(line) > mostColumns && !may[i+1] {
			long = append(long, i+1)
		}
	}
	return long
}

// linesOfTexts returns the lines that have a part of a long raw string, or in a test of a long text.
func linesOfTexts(src []byte, isTest bool) map[int]bool {
	out := map[int]bool{}
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return out
		}
		isLong := utf8.RuneCountInString(literal) >= longLiteral && (isTest || literal[0] == '`')
		if kind != token.STRING || !isLong && !strings.Contains(literal, "\n") {
			continue
		}
		first := file.Line(pos)
		for n := range strings.Count(literal, "\n") + 1 {
			out[first+n] = true
		}
	}
}
