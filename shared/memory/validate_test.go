package memory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestValidTenant(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, "0": true, "acme": true, "acme-2": true, "a--b": true, strings.Repeat("a", 63): true,
		"": false, strings.Repeat("a", 64): false, "-a": false, "a-": false, "-": false, "A": false, "a_b": false,
		"a.b": false,
		"a/b": false, "a b": false, "a\n": false, "\na": false, "á": false, "a\x00": false, "\xff": false,
	} {
		check(t, "tenant_id", id, memory.ValidTenant(id), want)
	}
}

func TestValidUser(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, " a ": true, "a/b": true, `a"b\`: true, "*?": true, "日本 🚲": true, "a\nb": true,
		strings.Repeat("u", 256): true,
		"":                       false, " ": false, "\t\n": false, strings.Repeat("u", 257): false,
		strings.Repeat("🚲", 65): false,
		"a\x00b":                false, "a\xffb": false,
	} {
		check(t, "user_id", id, memory.ValidUser(id), want)
	}
}

func TestValidTextNamesItsField(t *testing.T) {
	for _, text := range []string{"", "12345", "\xff", "\x00"} {
		check(t, "turn.text", text, memory.ValidText("turn.text", text, 4), false)
	}
	check(t, "turn.text", "1234", memory.ValidText("turn.text", "1234", 4), true)
}

func TestValidTime(t *testing.T) {
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	for _, c := range []struct {
		at   time.Time
		want bool
	}{
		{now, true}, {time.Unix(0, 0), true}, {now.Add(24 * time.Hour), true},
		{time.Unix(0, -1), false}, {now.Add(24*time.Hour + 1), false}, {time.Time{}, false},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), false},
		{now.In(time.FixedZone("east", 14*3600)), true},
	} {
		check(t, "turn.time", c.at.String(), memory.ValidTime("turn.time", c.at, now), c.want)
	}
}

// check wants nil, or a terminal error about the field that does not repeat the value.
func check(t *testing.T, field, value string, err error, valid bool) {
	t.Helper()
	switch {
	case valid && err != nil:
		t.Errorf("%q: got %v, want none", value, err)
	case !valid && (!fault.IsTerminal(err) || fault.Field(err) != field):
		t.Errorf("%q: got %v, want a terminal error about %s", value, err, field)
	case !valid && len(value) > 3 && strings.Contains(err.Error(), value):
		t.Errorf("%q: the error repeats what the user said: %v", value, err)
	}
}

func FuzzValidTenant(f *testing.F) {
	for _, id := range []string{"", "acme", "a-b", "-", "A", "a/b", "a\n"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-"
		want := len(id) >= 1 && len(id) <= memory.MaxTenantBytes && strings.Trim(id, allowed) == "" &&
			!strings.HasPrefix(id, "-") && !strings.HasSuffix(id, "-")
		if err := memory.ValidTenant(id); (err == nil) != want {
			t.Errorf("%q: got %v", id, err)
		}
	})
}

func TestValidID(t *testing.T) {
	if err := memory.ValidID("memory_id", "0f8fad5b-d9cb-469f-a165-70867728950e"); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"", "../../x", "0F8FAD5B-D9CB-469F-A165-70867728950E",
		"{0f8fad5b-d9cb-469f-a165-70867728950e}"} {
		if err := memory.ValidID("memory_id", id); fault.Field(err) != "memory_id" {
			t.Errorf("%q: %v", id, err)
		}
	}
}
