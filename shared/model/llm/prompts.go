package llm

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Prompt is a versioned pair of templates, "system" and "user".
type Prompt struct {
	// Version is the file's name without its suffix ("filter.v3"). If the prompt or one of its parts is overridden,
	// '+' and a digest follow, so that its results are distinguishable.
	Version string
	t       *template.Template
}

// Part is a file with templates that several prompts use.
type Part struct {
	FS   fs.FS
	File string
}

//go:embed prompts/*.tmpl
var ownPrompts embed.FS

// dataRule has the template "data", which states that the data block is no instruction. Every prompt may use it.
var dataRule = Part{ownPrompts, "prompts/data.v1.tmpl"}

// LoadPrompt reads a prompt file of the form name.vN.tmpl, with the parts that it uses. It reads each file from the
// directory override, if that is set and has the file, else from builtin. The prompt must define "system" and "user".
// "user" must carry {{.Data}}, and "system" must not. Both must render with probe, a sample of the role's Params.
func LoadPrompt(builtin fs.FS, override, file string, probe any, parts ...Part) (Prompt, error) {
	version := strings.TrimSuffix(filepath.Base(file), ".tmpl")
	t := template.New(version).Option("missingkey=error")
	digest := sha256.New()
	overridden := false
	for _, part := range append([]Part{dataRule}, append(parts, Part{builtin, file})...) {
		text, own, err := readPart(override, part)
		if err != nil {
			return Prompt{}, err
		}
		if own {
			overridden = true
			digest.Write(text)
		}
		if _, err = t.Parse(string(text)); err != nil {
			return Prompt{}, fmt.Errorf("prompt %s: %w", part.File, err)
		}
	}
	if overridden {
		version += "+" + hex.EncodeToString(digest.Sum(nil)[:4])
	}
	p := Prompt{Version: version, t: t}
	return p, p.probe(file, probe)
}

// readPart reads a file, and reports whether it comes from the directory of overrides.
func readPart(override string, part Part) (text []byte, own bool, err error) {
	if text, err = readOverride(override, filepath.Base(part.File)); err != nil || text != nil {
		return text, text != nil, err
	}
	if text, err = fs.ReadFile(part.FS, part.File); err != nil {
		err = fmt.Errorf("read prompt %s: %w", part.File, err)
	}
	return text, false, err
}

// readOverride returns nil for a file without an override.
func readOverride(dir, file string) ([]byte, error) {
	if dir == "" {
		return nil, nil
	}
	name, _, _ := strings.Cut(file, ".")
	others, _ := filepath.Glob(filepath.Join(dir, name+".v*.tmpl")) // its only error is about the pattern
	for _, other := range others {
		if other = filepath.Base(other); other != file {
			return nil, fmt.Errorf("prompt directory: has the unused file %s: the built-in prompt is %s; move your "+
				"changes there", other, file)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("prompt directory: %w", err)
		}
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("prompt override: %w", err)
	}
	return text, nil
}

// probe renders the templates at start-up, to find errors before the first call.
func (p Prompt) probe(file string, params any) error {
	const mark = "probe-7f3a"
	system, user, err := p.Render(map[string]string{"probe": mark}, params)
	if err != nil {
		return fmt.Errorf("prompt %s: %w", file, err)
	}
	if strings.TrimSpace(system) == "" || strings.Contains(system, mark) {
		return fmt.Errorf("prompt %s: want instructions in \"system\", and the data not there", file)
	}
	if strings.Count(user, mark) != 1 {
		return fmt.Errorf("prompt %s: want {{.Data}} exactly once in \"user\"", file)
	}
	return nil
}

// Render fills the templates. They see .Data, the data block, and .Params.
func (p Prompt) Render(data, params any) (system, user string, err error) {
	block, err := DataBlock(data)
	if err != nil {
		return "", "", err
	}
	in := struct {
		Data   string
		Params any
	}{block, params}
	var s, u bytes.Buffer
	if err := p.t.ExecuteTemplate(&s, "system", in); err != nil {
		return "", "", err
	}
	if err := p.t.ExecuteTemplate(&u, "user", in); err != nil {
		return "", "", err
	}
	return s.String(), u.String(), nil
}

// The marks around a data block. JSON as DataBlock writes it escapes '<' and '>'. So no text inside can end the
// block.
const (
	DataOpen  = "<data>"
	DataClose = "</data>"
)

// DataBlock writes texts of users, or results made from them, as JSON between marks. Prompts state that the block
// never contains an instruction.
func DataBlock(v any) (string, error) {
	out, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode prompt data: %w", err)
	}
	return DataOpen + "\n" + string(out) + "\n" + DataClose, nil
}

// ShowTime writes a time as prompts show it, in its zone. It adds the day of the week, because relative dates need it
// and models get it wrong.
func ShowTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("Monday 2006-01-02 15:04")
}

// ShowEvent writes an event time as exactly as it is known, a range as "from to until".
func ShowEvent(e memory.EventTime) string {
	layout := map[memory.Precision]string{
		memory.PrecisionDay: time.DateOnly, memory.PrecisionMonth: "2006-01", memory.PrecisionYear: "2006",
	}[e.Precision]
	if layout == "" {
		return ""
	}
	if e.End.IsZero() {
		return e.Time.Format(layout)
	}
	return e.Time.Format(layout) + " to " + e.End.Format(layout)
}
