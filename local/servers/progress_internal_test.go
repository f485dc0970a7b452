package servers

import (
	"fmt"
	"testing"
	"time"
)

func TestCompilationCountsPackagesAndKeepsErrors(t *testing.T) {
	c := &compilation{total: 3, stale: map[string]bool{"one/a": true, "one/b": true, "one/c": true}}
	for _, step := range []struct{ output, state string }{
		{"one/a\none", "package 1 of 3"},
		{"/b\n# one/b\nb.go:1: wrong\n", "package 2 of 3"},
		{"one/c\n", "linking"},
	} {
		fmt.Fprint(c, step.output)
		if c.state() != step.state {
			t.Errorf("after %q the state is %q, want %q", step.output, c.state(), step.state)
		}
	}
	if got := string(c.rest()); got != "# one/b\nb.go:1: wrong\n" {
		t.Errorf("other output is %q", got)
	}
}

func TestUsualTimeOfABuild(t *testing.T) {
	w := work(10 * time.Minute)
	for _, c := range []struct {
		work                      work
		processors, packages, all int
		want                      string
	}{
		{w, 2, 100, 100, "100 packages to compile, usually takes 5 minutes on 2 free processors"},
		{w, 4, 100, 100, "100 packages to compile, usually takes 3 minutes on 4 free processors"},
		{w, 2, 10, 100, "10 packages to compile, usually takes less than a minute"},
		{0, 2, 10, 100, "10 packages to compile, takes minutes the first time"},
	} {
		if got := c.work.on(c.processors, c.packages, c.all); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
