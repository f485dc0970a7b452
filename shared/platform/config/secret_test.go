package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/platform/config"
)

func TestSecretIsHiddenHoweverItIsPrinted(t *testing.T) {
	const raw = "s3same"
	secret := config.Secret(raw)
	holder := struct{ Key config.Secret }{secret}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logger.Info("m", "key", secret, "holder", holder)
	js, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := secret.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	outputs := []string{log.String(), string(js), string(text), secret.String(), fmt.Sprint(holder),
		fmt.Errorf("key %v", secret).Error()}
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%X", "%d"} {
		outputs = append(outputs, fmt.Sprintf(verb, secret), fmt.Sprintf(verb, holder))
	}
	for _, out := range outputs {
		if strings.Contains(out, raw) || strings.Contains(strings.ToLower(out), fmt.Sprintf("%x", raw)) ||
			!strings.Contains(out, "***") {
			t.Errorf("printed as %s", out)
		}
	}
	if secret.Reveal() != raw {
		t.Errorf("revealed %q", secret.Reveal())
	}
	if got := fmt.Sprint(config.Secret("")); got != "" {
		t.Errorf("empty secret printed as %q", got)
	}
}

func TestSizeReadsUnits(t *testing.T) {
	for in, want := range map[string]config.Size{
		"0": 0, "512": 512, "64KiB": 65536, "4mib": 4 << 20, "1 GiB": 1 << 30, "2kB": 2000, "3MB": 3e6, "1GB": 1e9, "7B": 7,
	} {
		var got config.Size
		if err := got.UnmarshalText([]byte(in)); err != nil || got != want {
			t.Errorf("%q read as %d (%v), want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "x", "-1", "1.5MiB", "1TiB", "9223372036854775807GiB", "MiB"} {
		var got config.Size
		if err := got.UnmarshalText([]byte(in)); err == nil {
			t.Errorf("%q read as %d", in, got)
		}
	}
}

func FuzzSizeRoundTrip(f *testing.F) {
	for _, seed := range []string{"0", "4MiB", "1000", "1kB", "99999999999999999999", "1 "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var a, b config.Size
		if a.UnmarshalText([]byte(in)) != nil {
			return
		}
		if err := b.UnmarshalText([]byte(a.String())); err != nil || a != b {
			t.Fatalf("%q became %d, then %d (%v)", in, a, b, err)
		}
	})
}
