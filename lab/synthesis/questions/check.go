package questions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
)

// needed are the lists from which the program itself draws.
var needed = []string{
	"name-f", "name-m", "greeting", "reaction", "echo", "echo-assistant", "thanks", "more", "tail", "chatter", "bye",
	"when-ask",
	"when-answer", "restate",
}

// check finds references to missing names. So a typing error in the words fails when the words load, and never
// reaches a text.
func (l *library) check() error {
	for _, name := range needed {
		if len(l.lists[name]) == 0 {
			return fmt.Errorf("%w: list %s is missing or empty", errWords, name)
		}
	}
	for name, list := range l.lists {
		if err := l.known(list, nil); err != nil {
			return fmt.Errorf("%w: list %s: %w", errWords, name, err)
		}
	}
	for _, c := range l.classes {
		if len(c.things) == 0 || len(c.frames) == 0 || len(c.prompts) == 0 {
			return fmt.Errorf("%w: class %s has no things, no frames or no prompts", errWords, c.name)
		}
		texts := slices.Concat(c.recaps, c.similar, c.mores, c.prompts)
		for _, row := range c.things {
			texts = append(texts, row...)
		}
		for _, f := range c.frames {
			if len(f.tells) == 0 || len(f.asks)+len(f.whens)+len(f.multis)+len(f.details) == 0 {
				return fmt.Errorf("%w: class %s has a frame that tells or answers nothing", errWords, c.name)
			}
			texts = slices.Concat(texts, f.tells, f.mores, f.echoes, f.captions, f.asks, f.whens, f.multis, f.nows)
			for _, d := range f.details {
				texts = slices.Concat(texts, []string{d.ask, d.answer}, d.asks, d.multis)
			}
		}
		if err := l.known(texts, c); err != nil {
			return fmt.Errorf("%w: class %s: %w", errWords, c.name, err)
		}
	}
	return nil
}

// known returns an error for a reference to a missing name, or for a template that does not parse.
func (l *library) known(texts []string, c *class) (err error) {
	for _, text := range texts {
		p, unread := template.Parse(text)
		if unread != nil {
			return unread
		}
		p.Refs(func(name string) {
			if !personal[name] && l.lists[listOf(name)] == nil && (c == nil || !slices.Contains(c.columns, name)) {
				err = fmt.Errorf("%q refers to %q, which is nothing", text, name)
			}
		})
	}
	return err
}

// personal are the references to people and times.
var personal = map[string]bool{
	"N": true, "N's": true, "O": true, "O's": true, "he": true, "his": true, "him": true, "does": true, "has": true,
	"is": true, "was": true,
	"when": true, "soon": true, "on": true, "short": true,
}

// listOf returns the list of a reference: {person2} is a second value of person.
func listOf(name string) string { return strings.TrimRight(name, "23") }
