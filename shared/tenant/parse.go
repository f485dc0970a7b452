package tenant

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mneme-memory/mneme/shared/memory"
)

// file is the tenants file.
type file struct {
	Tenants []fileEntry `yaml:"tenants"`
}

type fileEntry struct {
	ID       string   `yaml:"id"`
	Name     string   `yaml:"name"`
	Strategy Strategy `yaml:"strategy"`
	Policy   Policy   `yaml:"policy"`
	// Saliency is the strategy's mode when omitted.
	Saliency memory.SaliencyMode `yaml:"saliency"`
	Explore  Exploration         `yaml:"explore"`
	// TalkDays is 0 when omitted. As an int, the library would cut 0.5 to 0, which keeps talk for ever.
	TalkDays float64 `yaml:"talk_days"`
	// Suspended is false when omitted.
	Suspended bool `yaml:"suspended"`
	// APIKeys is decoded by hand. The library's errors show values, and an unhashed key must not appear in a log.
	APIKeys yaml.Node `yaml:"api_keys"`
}

// Parse reads a tenants file. Strategy and policy are optional and have defaults. An unknown field is an error with
// its line. Parse reports every error it finds and never a value of api_keys.
func Parse(r io.Reader) ([]Entry, error) {
	entries, s, err := parse(r, 1)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i].Tenant = s.ordered[i]
	}
	return entries, nil
}

// parse reads a file with a minimum number of tenants.
func parse(r io.Reader, least int) ([]Entry, *snapshot, error) {
	entries, err := decode(r)
	if err != nil {
		return nil, nil, err
	}
	s, err := newSnapshot(entries, least)
	return entries, s, err
}

// decode reads the form of the file and does not check its values.
func decode(r io.Reader) ([]Entry, error) {
	var f file
	decoder := yaml.NewDecoder(r)
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, describe(err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document, want one")
	}
	entries := make([]Entry, len(f.Tenants))
	var problems []error
	for i, e := range f.Tenants {
		keys, err := e.keys(fmt.Sprintf("tenants[%d].api_keys", i))
		problems = append(problems, err)
		days := int(e.TalkDays)
		if float64(days) != e.TalkDays {
			problems = append(problems, fmt.Errorf("tenants[%d].talk_days: is %g, want a whole number of days", i, e.TalkDays))
		}
		t := Tenant{
			ID: e.ID, Name: e.Name, Strategy: e.Strategy, Policy: e.Policy, Saliency: e.Saliency, Explore: e.Explore,
			TalkDays:  days,
			Suspended: e.Suspended,
		}
		entries[i] = Entry{Tenant: t, APIKeys: keys}
	}
	return entries, errors.Join(problems...)
}

// keys returns the strings of api_keys.
func (e *fileEntry) keys(path string) ([]string, error) {
	node := &e.APIKeys
	if node.IsZero() || node.Tag == "!!null" {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s: line %d: is not a list, want a list of sha256:HEX", path, node.Line)
	}
	keys := make([]string, len(node.Content))
	for i, item := range node.Content {
		if item.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("%s[%d]: line %d: is not a string, want sha256:HEX", path, i, item.Line)
		}
		keys[i] = item.Value
	}
	return keys, nil
}

var (
	goType     = regexp.MustCompile(` (in type|into) \S+`)
	shownValue = regexp.MustCompile("(?s) `.*`")
)

// describe removes Go's types and the file's values from the library's errors.
func describe(err error) error {
	typeErr, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return err
	}
	var problems []error
	for _, text := range typeErr.Errors {
		text = shownValue.ReplaceAllString(text, "")
		text = goType.ReplaceAllString(text, "")
		text = strings.Replace(text, "cannot unmarshal", "does not fit here:", 1)
		problems = append(problems, errors.New(text))
	}
	return errors.Join(problems...)
}
