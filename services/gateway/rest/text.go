package rest

import (
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mneme-memory/mneme/services/gateway/idempotency"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
)

// The texts of requests. Their limits are of bytes; a schema can only bound characters, and says the rest in words.
type (
	userID      string // an end user
	textID      string // a session, a turn, a recall, an erasure
	letterID    string
	keyID       string
	memoryID    string
	cursor      string
	utterance   string
	statement   string
	caption     string
	query       string
	message     string
	keyName     string
	speaker     string
	keyHeader   string
	etagHeader  string
	matchHeader string
)

// count is a whole number of JSON, which may be written as 14.0.
type count uint32

// UnmarshalJSON implements json.Unmarshaler; check has seen that it is within limits.
func (c *count) UnmarshalJSON(text []byte) error {
	n, err := wholeNumber(json.Number(text))
	*c = count(n) //nolint:gosec // within limits
	return err
}

// wholeNumber is a number of JSON that is one, however it is written.
func wholeNumber(n json.Number) (int64, error) {
	if v, err := n.Int64(); err == nil {
		return v, nil
	}
	v, err := n.Float64()
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return 0, errors.New("is not a whole number")
	}
	return int64(v), nil
}

// maxBytes is the property of a schema that bounds a text in bytes.
const maxBytes = "x-max-bytes"

// patterns of texts; whatever has a pattern is ASCII.
const (
	patternUUID   = `^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`
	patternCursor = `^[A-Za-z0-9_-]+$`
	patternHeader = `^[!-~]+$`
	// patternText is of texts that are held against memory.ValidText: something that is no space, and no NUL.
	patternText = "^[^\\x00]*[^\\x00\\t-\\r \\x85\\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000][^\\x00]*$"
)

var compiled = map[string]*regexp.Regexp{
	patternUUID: regexp.MustCompile(patternUUID), patternCursor: regexp.MustCompile(patternCursor),
	patternHeader: regexp.MustCompile(patternHeader),
}

// maxCursor bounds a cursor, in characters.
const maxCursor = 1024

// text is the schema of a text of up to limit bytes that is not blank.
func text(limit int, doc string) *huma.Schema {
	one := 1
	return &huma.Schema{
		Type: huma.TypeString, MinLength: &one, MaxLength: &limit, Pattern: patternText, PatternDescription: "text",
		Description: doc + " At most " + strconv.Itoa(limit) + " bytes of UTF-8.",
		Extensions:  map[string]any{maxBytes: limit},
	}
}

// ascii is the schema of a text of a pattern, of up to limit characters.
func ascii(limit int, pattern, doc string) *huma.Schema {
	one := 1
	return &huma.Schema{Type: huma.TypeString, MinLength: &one, MaxLength: &limit, Pattern: pattern, Description: doc}
}

// Schema implements huma.SchemaProvider, as do the others.
func (userID) Schema(huma.Registry) *huma.Schema {
	return text(memory.MaxUserBytes, "The end user, percent-encoded as one segment of the path.")
}

func (textID) Schema(huma.Registry) *huma.Schema { return text(memory.MaxIDBytes, "An identifier.") }
func (letterID) Schema(huma.Registry) *huma.Schema {
	return text(memory.MaxIDBytes, "The dead letter.")
}
func (keyID) Schema(huma.Registry) *huma.Schema {
	return text(memory.MaxIDBytes, "The id of the API key. It is not a secret.")
}

func (memoryID) Schema(huma.Registry) *huma.Schema { return uuidOf("The memory.") }

// uuidOf is the schema of a UUID.
func uuidOf(doc string) *huma.Schema {
	length := len("00000000-0000-0000-0000-000000000000")
	return &huma.Schema{Type: huma.TypeString, Format: "uuid", MinLength: &length, MaxLength: &length,
		Pattern: patternUUID, Description: doc}
}

func (cursor) Schema(huma.Registry) *huma.Schema {
	return ascii(maxCursor, patternCursor, "Where to go on, as the answer before says; without it at the beginning.")
}

func (utterance) Schema(huma.Registry) *huma.Schema {
	return text(memory.MaxTurnBytes, "The text of the turn. Mneme keeps the first and the last part of a text "+
		"of more than "+
		strconv.Itoa(memory.MaxTextBytes)+" bytes.")
}
func (statement) Schema(huma.Registry) *huma.Schema {
	return text(memory.MaxTextBytes, "The text of the memory.")
}
func (caption) Schema(huma.Registry) *huma.Schema {
	return text(memory.MaxCaptionBytes, "A description of an image that comes with it.")
}
func (query) Schema(huma.Registry) *huma.Schema {
	return text(memory.MaxQueryBytes, "A question, or a text.")
}
func (message) Schema(huma.Registry) *huma.Schema {
	return text(memory.MaxMessageBytes, "The text of the turn or message.")
}
func (keyName) Schema(huma.Registry) *huma.Schema {
	return text(access.MaxNameBytes, "A name, for people.")
}
func (speaker) Schema(huma.Registry) *huma.Schema {
	return text(memory.MaxIDBytes, "Who says it, by name; without it the role.")
}

func (keyHeader) Schema(huma.Registry) *huma.Schema {
	return ascii(idempotency.MaxKey, patternHeader, "A text that you choose for each new request. Use the same text "+
		"to repeat a request. For 24 hours, the repetition gets the first answer without secrets, with the header "+
		idempotency.Replayed+".")
}

func (matchHeader) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: "ETags that the client read. If none of them is the " +
		"current one, the call changes nothing and answers 412. `*` matches any."}
}

func (etagHeader) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: "ETags that the client has. If one of them is the current " +
		"one, the answer is 304."}
}
