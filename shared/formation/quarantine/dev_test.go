package quarantine

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

func TestDev(t *testing.T) {
	for _, f := range strings.Fields(os.Getenv("DEV")) {
		file, err := os.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(file)
		n, hit := 0, 0
		for sc.Scan() {
			l := sc.Text()
			if l == "" || l[0] == '#' || strings.HasPrefix(l, "==") {
				continue
			}
			n++
			found, ok := Text(strings.ReplaceAll(l, `\n`, "\n"))
			if ok {
				hit++
			}
			if ok != strings.Contains(f, "hostile") {
				t.Logf("%t %s: %s | %q", ok, found.Reason, l, found.Rest)
			}
		}
		t.Logf("%s: %d of %d", f, hit, n)
	}
}
