package mem0

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryCallHasItsScopes(t *testing.T) {
	stated := Scopes()
	for _, c := range (&api{}).routes() {
		name := c.method + " " + strings.Join(c.segments, "/") + "/"
		if _, ok := stated[name]; !ok {
			t.Errorf("%s has no scopes", name)
		}
		delete(stated, name)
	}
	if len(stated) > 0 {
		t.Errorf("scopes of no call: %v", slices.Collect(func(yield func(string) bool) {
			for name := range stated {
				if !yield(name) {
					return
				}
			}
		}))
	}
}
