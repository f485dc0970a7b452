package memory_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/memory"
	"pgregory.net/rapid"
)

func TestShortenKeepsBothEndsOfALongText(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	log := "first line\n" + strings.Repeat(line, 3000) + "last line"
	short, leftOut := memory.Shorten(log)
	from, to, ok := memory.MarkOfShorten(short)
	if !ok || len(short) > memory.MaxTextBytes || len(short) < memory.MaxTextBytes-2300 {
		t.Fatalf("%d bytes, mark %t", len(short), ok)
	}
	head, tail := short[:from], short[to:]
	if short[from:to] != "[... 267,400 bytes left out ...]\n" || leftOut != 267_400 ||
		len(head)+leftOut+len(tail) != len(log) {
		t.Errorf("%q, %d left out of %d, %d kept", short[from:to], leftOut, len(log), len(head)+len(tail))
	}
	if !strings.HasPrefix(log, head) || !strings.HasSuffix(log, tail) || !strings.HasSuffix(head, "x\n") ||
		!strings.HasPrefix(tail, line) {
		t.Errorf("cut within a line: %q, %q", head[len(head)-20:], tail[:20])
	}
	for _, same := range []string{"", "short", strings.Repeat("é", memory.MaxTextBytes/2)} {
		if got, n := memory.Shorten(same); got != same || n != 0 {
			t.Errorf("a text of %d bytes changed", len(same))
		}
	}
}

func TestShortenOfAnyText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.StringOfN(rapid.RuneFrom([]rune("aé€😀\n .")), 1, 200, -1).Draw(rt, "part")
		times := rapid.IntRange(1, 6000).Draw(rt, "times")
		text := strings.Repeat(part, times)
		short, leftOut := memory.Shorten(text)
		if len(short) > memory.MaxTextBytes || !utf8.ValidString(short) ||
			(leftOut > 0) != (len(text) > memory.MaxTextBytes) {
			rt.Fatalf("%d bytes of %d, %d left out", len(short), len(text), leftOut)
		}
		if again, n := memory.Shorten(short); again != short || n != 0 {
			rt.Fatal("the second call changes the text")
		}
		if _, _, ok := memory.MarkOfShorten(short); ok != (leftOut > 0) {
			rt.Fatalf("mark found: %t, left out %d", ok, leftOut)
		}
	})
}
