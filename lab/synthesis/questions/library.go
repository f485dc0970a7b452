package questions

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/mneme-memory/mneme/lab/synthesis"
)

//go:embed words
var files embed.FS

// errWords is the error for a word file that breaks the rules.
var errWords = errors.New("word file is broken")

// heldOut is the period of held-out entries: one of that many is held out.
const heldOut = 3

// library is all words of one split.
type library struct {
	split   synthesis.Split
	lists   map[string][]string
	classes []*class
}

// class is a sort of things that people talk about.
type class struct {
	name string
	// once is true for a class with things of one session only.
	once bool
	// assistant is true for a class that only users of an assistant talk about, or only others.
	assistant bool
	columns   []string
	// kept are the lists with one fixed value for a thing.
	kept   []string
	things [][]string
	// recaps and similar are sentences without a new fact. mores are sentences that may follow any told fact. prompts
	// ask the other for news.
	recaps, similar, mores, prompts []string
	frames                          []*frame
}

// frame is one fact that a person can tell about a thing.
type frame struct {
	// first is true for a frame that begins the thread.
	first                                                     bool
	tells, mores, echoes, captions, asks, whens, multis, nows []string
	details                                                   []*detail
}

// detail is a question of the listener, the answer, and questions about it.
type detail struct {
	// back is true when the teller asks and the other answers.
	back         bool
	ask, answer  string
	asks, multis []string
}

func loadLibrary(split synthesis.Split) (*library, error) {
	l := &library{split: split, lists: map[string][]string{}}
	names, err := fs.Glob(files, "words/*.txt")
	if err != nil {
		return nil, fmt.Errorf("find words: %w", err)
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read words: %w", err)
		}
		p := parser{library: l}
		for n, line := range strings.Split(string(text), "\n") {
			if err := p.line(strings.TrimSpace(line)); err != nil {
				return nil, fmt.Errorf("%w: %s, line %d: %w", errWords, path.Base(name), n+1, err)
			}
		}
	}
	l.divide()
	return l, l.check()
}

// parser reads one file.
type parser struct {
	library *library
	list    string
	class   *class
	frame   *frame
	rows    bool
}

func (p *parser) line(line string) error {
	head, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case line == "" || head == "#":
		return nil
	case head == "list":
		p.list, p.class, p.frame = rest, nil, nil
		return nil
	case head == "class":
		return p.begin(rest)
	case head == "frame" && p.class != nil:
		p.frame, p.rows = &frame{first: rest == "first"}, false
		p.class.frames = append(p.class.frames, p.frame)
		return nil
	case p.list != "":
		return p.entries(line)
	case p.class == nil:
		return errors.New("stands in nothing")
	case p.frame == nil:
		return p.thing(line, head, rest)
	}
	return p.frame.line(head, rest)
}

// begin reads "name option: column | column ; list list".
func (p *parser) begin(rest string) error {
	names, columns, ok := strings.Cut(rest, ":")
	words := strings.Fields(names)
	if !ok || len(words) == 0 {
		return errors.New("want a class with its columns after a colon")
	}
	p.class, p.list, p.frame = &class{name: words[0]}, "", nil
	for _, option := range words[1:] {
		switch option {
		case "once":
			p.class.once = true
		case "assistant":
			p.class.assistant = true
		default:
			return fmt.Errorf("has option %q", option)
		}
	}
	columns, kept, _ := strings.Cut(columns, ";")
	for column := range strings.SplitSeq(columns, " | ") {
		p.class.columns = append(p.class.columns, strings.TrimSpace(column))
	}
	p.class.kept = strings.Fields(kept)
	p.library.classes = append(p.library.classes, p.class)
	return nil
}

// entries reads the entries of a list: words with commas between them, or lines in a list with a name that ends in
// "lines".
func (p *parser) entries(line string) error {
	if name, lines := strings.CutSuffix(p.list, " lines"); lines {
		p.library.lists[name] = append(p.library.lists[name], line)
		return nil
	}
	for w := range strings.SplitSeq(line, ",") {
		if w = strings.TrimSpace(w); w != "" {
			p.library.lists[p.list] = append(p.library.lists[p.list], w)
		}
	}
	return nil
}

func (p *parser) thing(line, head, rest string) error {
	switch head {
	case "r":
		p.class.recaps = append(p.class.recaps, rest)
		return nil
	case "b":
		p.class.similar = append(p.class.similar, rest)
		return nil
	case "p":
		p.class.prompts = append(p.class.prompts, rest)
		return nil
	case "~":
		p.class.mores = append(p.class.mores, rest)
		return nil
	}
	var row []string
	for cell := range strings.SplitSeq(line, " | ") {
		row = append(row, strings.TrimSpace(cell))
	}
	if len(row) != len(p.class.columns) {
		return fmt.Errorf("has %d cells, want %d", len(row), len(p.class.columns))
	}
	p.class.things = append(p.class.things, row)
	return nil
}

func (f *frame) line(head, rest string) error {
	if rest == "" {
		return errors.New("has nothing after its mark")
	}
	lists := map[string]*[]string{
		"+": &f.tells, "~": &f.mores, "^": &f.echoes, "@": &f.captions, "?": &f.asks, "w": &f.whens, "m": &f.multis,
		"n": &f.nows,
	}
	if list := lists[head]; list != nil {
		for part := range strings.SplitSeq(rest, "||") {
			*list = append(*list, strings.TrimSpace(part))
		}
		return nil
	}
	parts := strings.Split(rest, "=>")
	switch {
	case head == "M" && len(f.details) > 0:
		d := f.details[len(f.details)-1]
		d.multis = append(d.multis, rest)
		return nil
	case head != ">" && head != "<":
		return fmt.Errorf("has mark %q", head)
	case len(parts) != 3:
		return errors.New("want a question, an answer and questions on it, parted by =>")
	}
	d := &detail{back: head == "<", ask: strings.TrimSpace(parts[0]), answer: strings.TrimSpace(parts[1])}
	for part := range strings.SplitSeq(parts[2], "||") {
		d.asks = append(d.asks, strings.TrimSpace(part))
	}
	f.details = append(f.details, d)
	return nil
}

// divide keeps the split's lists, things, and ways to tell and to ask.
func (l *library) divide() {
	for name, list := range l.lists {
		l.lists[name] = divided(list, l.split)
	}
	for _, c := range l.classes {
		c.things = divided(c.things, l.split)
		for _, f := range c.frames {
			f.tells, f.asks, f.whens = divided(f.tells, l.split), divided(f.asks, l.split), divided(f.whens, l.split)
			for _, d := range f.details {
				d.asks = divided(d.asks, l.split)
			}
		}
	}
}

// divided holds out every third entry of a list of three or more.
func divided[T any](entries []T, split synthesis.Split) []T {
	if len(entries) < heldOut {
		return entries
	}
	var out []T
	for i, e := range entries {
		if (i%heldOut == heldOut-1) == (split == synthesis.SplitHeldout) {
			out = append(out, e)
		}
	}
	return out
}
