package llm

import (
	"bytes"
	"crypto/sha256"
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
	// Version is the file's name without its suffix ("filter.v3"). An overridden prompt adds '+' and a digest, so
	// that its results are distinguishable.
	Version string
	t       *template.Template
}

// LoadPrompt reads a prompt file of the form name.vN.tmpl. It reads from the directory override, if that is set and
// has the file, else from builtin. The prompt must define "system" and "user". "user" must carry {{.Data}}, and
// "system" must not. Both must render with probe, a sample of the role's Params.
func LoadPrompt(builtin fs.FS, override, file string, probe any) (Prompt, error) {
	version := strings.TrimSuffix(filepath.Base(file), ".tmpl")
	text, err := readOverride(override, filepath.Base(file))
	switch {
	case err != nil:
		return Prompt{}, err
	case text != nil:
		sum := sha256.Sum256(text)
		version += "+" + hex.EncodeToString(sum[:4])
	default:
		if text, err = fs.ReadFile(builtin, file); err != nil {
			return Prompt{}, fmt.Errorf("read prompt %s: %w", file, err)
		}
	}
	t, err := template.New(version).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return Prompt{}, fmt.Errorf("prompt %s: %w", file, err)
	}
	p := Prompt{Version: version, t: t}
	return p, p.probe(file, probe)
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
			return nil, fmt.Errorf("prompt directory: has the unused file %s: the built-in prompt is %s; move your changes there", other, file)
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

// ShowTime writes a time as prompts show it, in its zone. It adds the day of the week, because relative dates need it and models
// get it wrong.
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
