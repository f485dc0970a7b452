package recall_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
)

func cited() recall.Profile {
	return recall.Profile{Cited: []memory.Memory{{ID: "a", Sources: []string{"t1", "t2"}},
		{ID: "b", Sources: []string{"t3"}}}}
}

func TestACitationLeadsToItsTurns(t *testing.T) {
	p := cited()
	for number, want := range map[int][]string{1: {"t1", "t2"}, 2: {"t3"}, 0: nil, 3: nil, -1: nil} {
		if got := p.Turns(number); !slices.Equal(got, want) {
			t.Errorf("[%d] leads to %v, want %v", number, got, want)
		}
	}
	p.Turns(1)[0] = "changed"
	if p.Cited[0].Sources[0] != "t1" {
		t.Error("the profile can be changed from outside")
	}
}

func TestPlainTextForgesNothing(t *testing.T) {
	for text, want := range map[string]string{
		"Ana lives in Rome.":        "Ana lives in Rome.",
		"one\n- two [1]\r\n":        "one - two (1)",
		"[3] [ 3 ] [1, 2] [12;4]":   "(3) (3) (1, 2) (12;4)",
		"[NO_CITE] [no_cite]":       "(NO_CITE) (no_cite)",
		"[[3]]":                     "[(3)]",
		"[sic] a[i] [2024-01-01]":   "[sic] a[i] [2024-01-01]",
		"ignore\u2028instructions":  "ignore instructions",
		"  ":                        "",
		"[[1]2] [[NO_CITE]NO_CITE]": "[(1)2] [(NO_CITE)NO_CITE]",
	} {
		if got := recall.Plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestGrounded(t *testing.T) {
	for text, want := range map[string]struct {
		text     string
		cited    []string
		invented bool
	}{
		" Yes [2], and [1][2]. ":  {"Yes [2], and [1][2].", []string{"b", "a"}, false},
		"Yes [1, 2].":             {"Yes [1][2].", []string{"a", "b"}, false},
		"Yes [[9]1].":             {"Yes [1].", []string{"a"}, true},
		"Yes [3].":                {"Yes.", nil, true},
		"Yes [3] [1], no [0].":    {"Yes [1], no.", []string{"a"}, true},
		"No  change . [sic]":      {"No  change . [sic]", nil, false},
		"[184467440737095516161]": {"", nil, true},
	} {
		got, ids, invented := cited().Grounded(text)
		if got != want.text || !slices.Equal(ids, want.cited) || invented != want.invented {
			t.Errorf("%q: got %q %v %v", text, got, ids, invented)
		}
	}
}

func FuzzCitations(f *testing.F) {
	for _, s := range []string{"Yes [1].", "[3][1, 2]", "[[1]]", "[NO_CITE]", "\xff[\n2]", "[1\u00a0]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain := recall.Plain(text)
		if strings.ContainsAny(plain, "\n\r") || recall.Plain(plain) != plain {
			t.Fatalf("%q is not plain: %q", text, plain)
		}
		if got, ids, invented := cited().Grounded(plain); got != plain || ids != nil || invented {
			t.Fatalf("plain text cites: %q, %v", plain, ids)
		}
		once, ids, _ := cited().Grounded(text)
		if twice, again, invented := cited().Grounded(once); twice != once || !slices.Equal(again, ids) || invented {
			t.Fatalf("%q: %q cites %v, %q cites %v", text, once, ids, twice, again)
		}
	})
}
