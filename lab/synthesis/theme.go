package synthesis

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
	"github.com/mneme-memory/mneme/shared/memory"
)

// theme is a changing fact of a person: its first telling, its evolutions, its questions.
type theme struct {
	name   string
	domain string
	kind   memory.Kind
	// many is true when a person may have several at once, each with a separate slot.
	many bool
	// assistant is true when the assistant tells it.
	assistant bool
	gist      *template.Phrase
	answer    *template.Phrase
	now       []template.Phrase
	past      []template.Phrase
	when      []template.Phrase
	ops       []*op
}

// op is one way to tell a fact of a theme.
type op struct {
	name      string
	evolution Evolution
	draws     []draw
	// once is true for an op that comes at most once.
	once bool
	// from names the ops after which this one may come. Empty means any.
	from      []string
	statement template.Phrase
	keywords  []template.Phrase
	subject   *template.Phrase
	gist      *template.Phrase
	answer    *template.Phrase
	say       []template.Phrase
	asks      []exchange
	follows   []exchange
	captions  []template.Phrase
	details   []template.Phrase
}

// draw takes a fresh value of a list for a variable.
type draw struct{ name, list string }

// exchange is a question of the other speaker and its answer.
type exchange struct{ question, answer template.Phrase }

// parseThemes reads a file of themes. README.md in the folder describes the form.
func parseThemes(text string, split Split) ([]*theme, error) {
	p := themeParser{split: split}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return p.finish()
}

type themeParser struct {
	split  Split
	themes []*theme
	theme  *theme
	op     *op
}

func (p *themeParser) line(line string) error {
	mark, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch mark {
	case "==":
		return p.header(rest)
	case "--":
		return p.opHeader(rest)
	}
	if p.theme == nil {
		return fmt.Errorf("stands before any theme")
	}
	if p.op == nil {
		return p.ofTheme(mark, rest)
	}
	return p.ofOp(mark, rest)
}

func (p *themeParser) header(rest string) error {
	fields := strings.Split(rest, "|")
	if len(fields) < 3 {
		return fmt.Errorf("want == name | domain | kind")
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	p.theme = &theme{
		name: fields[0], domain: fields[1], kind: memory.Kind(fields[2]),
		many: slices.Contains(fields[3:], "many"), assistant: slices.Contains(fields[3:], "assistant"),
	}
	p.themes, p.op = append(p.themes, p.theme), nil
	return nil
}

// evolutions by the first letters of an op's name.
var evolutions = []Evolution{
	EvolutionNew, EvolutionExpand, EvolutionAdjust, EvolutionShift, EvolutionPartial,
	EvolutionEnd, EvolutionAgain, EvolutionNear, EvolutionWish,
}

func (p *themeParser) opHeader(rest string) error {
	fields := strings.Fields(rest)
	if p.theme == nil || len(fields) == 0 {
		return fmt.Errorf("want -- name inside a theme")
	}
	o := &op{name: fields[0]}
	for _, e := range evolutions {
		if strings.HasPrefix(o.name, string(e)) {
			o.evolution = e
		}
	}
	if o.evolution == "" {
		return fmt.Errorf("op %s has no known evolution", o.name)
	}
	for _, f := range fields[1:] {
		if names, ok := strings.CutPrefix(f, "<"); ok {
			o.from = strings.Split(names, ",")
			continue
		}
		name, list, ok := strings.Cut(f, "=")
		if !ok {
			return fmt.Errorf("want variable=list or <op,op, got %s", f)
		}
		o.draws = append(o.draws, draw{name, list})
	}
	p.theme.ops, p.op = append(p.theme.ops, o), o
	return nil
}

func (p *themeParser) ofTheme(mark, rest string) error {
	ph, err := template.Parse(rest)
	if err != nil {
		return err
	}
	t := p.theme
	switch mark {
	case "g":
		t.gist = &ph
	case "a":
		t.answer = &ph
	case "q":
		t.now = append(t.now, ph)
	case "p":
		t.past = append(t.past, ph)
	case "w":
		t.when = append(t.when, ph)
	default:
		return fmt.Errorf("unknown mark %q of a theme", mark)
	}
	return nil
}

func (p *themeParser) ofOp(mark, rest string) error {
	o := p.op
	switch mark {
	case "=":
		return o.parseStatement(rest)
	case "?":
		return parseExchange(&o.asks, rest)
	case "!":
		return parseExchange(&o.follows, rest)
	}
	ph, err := template.Parse(rest)
	if err != nil {
		return err
	}
	switch mark {
	case "+":
		o.say = append(o.say, ph)
	case "~":
		o.details = append(o.details, ph)
	case "@":
		o.captions = append(o.captions, ph)
	case "a":
		o.answer = &ph
	case "g":
		o.gist = &ph
	case "s":
		o.subject = &ph
	default:
		return fmt.Errorf("unknown mark %q of an op", mark)
	}
	return nil
}

// parseStatement reads "statement | keyword | keyword | keyword". It splits at " | ", which no phrase has.
func (o *op) parseStatement(rest string) error {
	parts, err := parseAll(strings.Split(rest, " | "))
	if err != nil {
		return err
	}
	if len(parts) != 4 {
		return fmt.Errorf("statement %q has %d keywords, want 3", rest, len(parts)-1)
	}
	o.statement, o.keywords = parts[0], parts[1:]
	return nil
}

func parseExchange(to *[]exchange, rest string) error {
	q, a, ok := strings.Cut(rest, " => ")
	if !ok {
		return fmt.Errorf("want question => answer, got %q", rest)
	}
	both, err := parseAll([]string{q, a})
	if err != nil {
		return err
	}
	*to = append(*to, exchange{both[0], both[1]})
	return nil
}

// finish divides every list of phrasings between the splits.
func (p *themeParser) finish() ([]*theme, error) {
	var errs []error
	for _, t := range p.themes {
		where := "theme " + t.name
		errs = append(errs, part(where, &t.now, p.split), part(where, &t.past, p.split), part(where, &t.when, p.split))
		for _, o := range t.ops {
			where := where + ", op " + o.name
			if len(o.say) == 0 {
				errs = append(errs, fmt.Errorf("%s says nothing", where))
			}
			errs = append(errs,
				part(where, &o.say, p.split), part(where, &o.asks, p.split), part(where, &o.follows, p.split),
				part(where, &o.captions, p.split), part(where, &o.details, p.split))
		}
	}
	return p.themes, errors.Join(errs...)
}

// part keeps a split's share of a list: every third entry is held out. An empty list stays empty.
func part[T any](where string, list *[]T, split Split) error {
	if len(*list) == 0 {
		return nil
	}
	if len(*list) < minPhrasings {
		return fmt.Errorf("%s has a list of %d phrasings, want none or at least %d", where, len(*list), minPhrasings)
	}
	*list = divide(*list, split)
	return nil
}

// check reports missing parts, and references to missing names.
func (t *theme) check(l *library, see func(string, template.Phrase, map[string]bool)) []error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: theme %s: %s", errWords, t.name, fmt.Sprintf(format, args...)))
	}
	known := map[string]bool{}
	for name := range contextNames {
		known[name] = true
	}
	for _, o := range t.ops {
		for _, d := range o.draws {
			known[d.name], known["old."+d.name] = true, true
			if _, ok := l.lists[d.list]; !ok && d.list != pastEvents {
				bad("op %s draws of unknown list %s", o.name, d.list)
			}
		}
	}
	if t.gist == nil || t.answer == nil {
		bad("wants a gist and an answer")
		return errs
	}
	switch t.kind {
	case memory.KindFact, memory.KindPreference, memory.KindEpisodic, memory.KindSemantic, memory.KindProcedural:
	default:
		bad("has unknown kind %s", t.kind)
	}
	if len(t.ops) == 0 || t.ops[0].evolution != EvolutionNew {
		bad("wants an op new first")
	}
	for _, p := range slices.Concat([]template.Phrase{*t.gist, *t.answer}, t.now, t.past, t.when) {
		see("theme "+t.name, p, known)
	}
	for _, o := range t.ops {
		if o.evolution != EvolutionAgain && len(o.keywords) != 3 {
			bad("op %s has no statement", o.name)
		}
		for _, p := range o.phrases() {
			see("theme "+t.name, p, known)
		}
	}
	return errs
}

func (o *op) phrases() []template.Phrase {
	out := slices.Concat([]template.Phrase{o.statement}, o.keywords, o.say, o.captions, o.details)
	for _, p := range []*template.Phrase{o.subject, o.gist, o.answer} {
		if p != nil {
			out = append(out, *p)
		}
	}
	for _, e := range slices.Concat(o.asks, o.follows) {
		out = append(out, e.question, e.answer)
	}
	return out
}
