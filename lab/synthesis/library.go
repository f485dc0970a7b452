package synthesis

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
)

//go:embed words
var files embed.FS

// errWords is the error for a word file that breaks the rules.
var errWords = errors.New("word file is broken")

// minPhrasings is the least number of entries of a divided list, so that both splits have some.
const minPhrasings = 3

// library is all words of one split.
type library struct {
	// lists are word lists by name: values, names, and the pieces of small talk.
	lists map[string][]template.Phrase
	// themes are all themes, in the order of the files.
	themes []*theme
}

// loadLibrary reads words/lists/*.txt, words/chatter*.txt and words/themes/*.txt.
func loadLibrary(split Split) (*library, error) {
	l := &library{lists: map[string][]template.Phrase{}}
	for _, pattern := range []string{"words/lists/*.txt", "words/chatter*.txt", "words/themes/*.txt"} {
		names, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", pattern, err)
		}
		for _, name := range names {
			if err := l.load(name, split); err != nil {
				return nil, fmt.Errorf("%w: %s: %w", errWords, path.Base(name), err)
			}
		}
	}
	return l, l.check()
}

func (l *library) load(name string, split Split) error {
	text, err := files.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if strings.Contains(name, "/themes/") {
		themes, err := parseThemes(string(text), split)
		l.themes = append(l.themes, themes...)
		return err
	}
	return l.parseLists(string(text), split)
}

// parseLists reads lists. A line "[name]" or "[name] shared" begins a list, every further line is an entry. In a list
// "[name] words", commas separate entries. Lines that begin with "#" are comments. Shared lists are not divided.
func (l *library) parseLists(text string, split Split) error {
	var name, mode string
	var entries []string
	flush := func() error {
		if name == "" {
			return nil
		}
		if _, twice := l.lists[name]; twice {
			return fmt.Errorf("list %s stands twice", name)
		}
		kept := entries
		if !strings.Contains(mode, "shared") {
			kept = divide(entries, split)
			if len(entries) < minPhrasings {
				return fmt.Errorf("list %s has %d entries, want at least %d", name, len(entries), minPhrasings)
			}
		}
		parsed, err := parseAll(kept)
		l.lists[name] = parsed
		return err
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch head, tail, ok := listHeader(line); {
		case line == "" || line[0] == '#':
		case ok:
			if err := flush(); err != nil {
				return err
			}
			name, mode, entries = head, tail, nil
		case strings.Contains(mode, "words"):
			for w := range strings.SplitSeq(line, ",") {
				if w = strings.TrimSpace(w); w != "" {
					entries = append(entries, w)
				}
			}
		default:
			entries = append(entries, line)
		}
	}
	return flush()
}

// listHeader splits "[name] mode". Alternatives in brackets at the start of an entry have a "|".
func listHeader(line string) (name, mode string, ok bool) {
	if !strings.HasPrefix(line, "[") {
		return "", "", false
	}
	name, mode, ok = strings.Cut(line[1:], "]")
	if !ok || strings.ContainsAny(name, "| ") {
		return "", "", false
	}
	mode = strings.TrimSpace(mode)
	return name, mode, mode == "" || mode == "shared" || mode == "words" || mode == "shared words"
}

// divide returns the entries of a split: every third is held out.
func divide[T any](entries []T, split Split) []T {
	var out []T
	for i, e := range entries {
		if (i%minPhrasings == minPhrasings-1) == (split == SplitHeldout) {
			out = append(out, e)
		}
	}
	return out
}

func parseAll(entries []string) ([]template.Phrase, error) {
	out := make([]template.Phrase, len(entries))
	for i, e := range entries {
		p, err := template.Parse(e)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

// check finds references to missing names, so that making people cannot fail.
func (l *library) check() error {
	var errs []error
	see := func(where string, p template.Phrase, known map[string]bool) {
		p.Refs(func(name string) {
			if _, list := l.lists[name]; !list && !known[name] {
				errs = append(errs, fmt.Errorf("%w: %s: %q refers to unknown %s", errWords, where, p.Source, name))
			}
		})
	}
	for name, list := range l.lists {
		for _, p := range list {
			see("list "+name, p, contextNames)
		}
	}
	for _, t := range l.themes {
		errs = append(errs, t.check(l, see)...)
	}
	return errors.Join(errs...)
}

// contextNames are the references that resolve everywhere: the speaker, the other speaker, the last told fact, and
// expressions of time.
var contextNames = map[string]bool{
	"N": true, "F": true, "gist": true, "past": true, "future": true, "since": true, "date": true, "asof": true,
}
