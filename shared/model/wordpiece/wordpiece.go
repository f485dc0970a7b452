// Package wordpiece cuts texts into the tokens of BERT and the models that descend from it.
package wordpiece

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Tokenizer makes tokens of texts. It treats a special token in a text as plain text, so a text cannot contain one.
// It is safe for concurrent use.
type Tokenizer struct {
	vocabulary map[string]int64
	unknown    int64
	// inner begins the later pieces of a word. A word of more than longest letters is unknown.
	inner   string
	longest int
	// before and after are the tokens around each text.
	before, after []int64

	clean, ideographs, accents, lower bool
}

//go:embed uncased.json
var uncasedFile []byte

// Uncased returns the tokenizer of the encoders in the program: all-MiniLM-L6-v2 has it, with the words of BERT in
// lower case.
var Uncased = sync.OnceValue(func() *Tokenizer {
	t, err := Parse(uncasedFile)
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return t
})

// tokenizerFile is the supported part of tokenizer.json.
type tokenizerFile struct {
	Model struct {
		Type    string           `json:"type"`
		Unknown string           `json:"unk_token"`
		Inner   string           `json:"continuing_subword_prefix"`
		Longest int              `json:"max_input_chars_per_word"`
		Vocab   map[string]int64 `json:"vocab"`
	} `json:"model"`
	Normalizer *struct {
		Type       string `json:"type"`
		Clean      bool   `json:"clean_text"`
		Ideographs bool   `json:"handle_chinese_chars"`
		Strip      *bool  `json:"strip_accents"`
		Lower      bool   `json:"lowercase"`
	} `json:"normalizer"`
	PreTokenizer *struct {
		Type string `json:"type"`
	} `json:"pre_tokenizer"`
	PostProcessor *struct {
		Type   string `json:"type"`
		Single []struct {
			Special *struct {
				ID string `json:"id"`
			} `json:"SpecialToken"`
			Sequence *struct{} `json:"Sequence"`
		} `json:"single"`
		Specials map[string]struct {
			IDs []int64 `json:"ids"`
		} `json:"special_tokens"`
		Begin [2]json.RawMessage `json:"cls"`
		End   [2]json.RawMessage `json:"sep"`
	} `json:"post_processor"`
}

// Parse reads tokenizer.json. A tokenizer of another kind gives an error that names it.
func Parse(file []byte) (*Tokenizer, error) {
	var f tokenizerFile
	if err := json.Unmarshal(file, &f); err != nil {
		return nil, err
	}
	if f.Model.Type != "WordPiece" {
		return nil, fmt.Errorf("has a model of type %q, want WordPiece; an endpoint may serve other models", f.Model.Type)
	}
	if f.PreTokenizer == nil || f.PreTokenizer.Type != "BertPreTokenizer" {
		return nil, errors.New("has another pre-tokenizer than BertPreTokenizer")
	}
	w := &Tokenizer{vocabulary: f.Model.Vocab, inner: f.Model.Inner, longest: f.Model.Longest}
	var ok bool
	if w.unknown, ok = f.Model.Vocab[f.Model.Unknown]; !ok {
		return nil, fmt.Errorf("has no token %q for unknown words", f.Model.Unknown)
	}
	w.longest = cmp.Or(w.longest, 100)
	if n := f.Normalizer; n != nil {
		if n.Type != "BertNormalizer" {
			return nil, fmt.Errorf("has a normalizer of type %q, want BertNormalizer", n.Type)
		}
		w.clean, w.ideographs, w.lower = n.Clean, n.Ideographs, n.Lower
		w.accents = n.Lower
		if n.Strip != nil {
			w.accents = *n.Strip
		}
	}
	return w, w.surround(f)
}

// surround reads the tokens around a text.
func (w *Tokenizer) surround(f tokenizerFile) error {
	p := f.PostProcessor
	switch {
	case p == nil:
	case p.Type == "BertProcessing" || p.Type == "RobertaProcessing":
		w.before, w.after = make([]int64, 1), make([]int64, 1)
		return errors.Join(json.Unmarshal(p.Begin[1], &w.before[0]), json.Unmarshal(p.End[1], &w.after[0]))
	case p.Type == "TemplateProcessing":
		to := &w.before
		for _, part := range p.Single {
			if part.Special == nil {
				to = &w.after
				continue
			}
			ids := p.Specials[part.Special.ID].IDs
			if len(ids) == 0 {
				return fmt.Errorf("has a template with the unknown token %q", part.Special.ID)
			}
			*to = append(*to, ids...)
		}
	default:
		return fmt.Errorf("has a post-processor of type %q, want TemplateProcessing, BertProcessing or RobertaProcessing",
			p.Type)
	}
	return nil
}

// Around returns the tokens before and after each text.
func (w *Tokenizer) Around() (before, after []int64) { return w.before, w.after }

// Tokens returns the tokens of a text with the tokens around it, in total at most the given number. It also reports
// whether it cut the text.
func (w *Tokenizer) Tokens(text string, most int) (ids []int64, cut bool) {
	ids, cut = w.Pieces(text, most-len(w.before)-len(w.after))
	return slices.Concat(w.before, ids, w.after), cut
}

// Pieces returns the tokens of a text alone, at most the given number. It also reports whether it cut the text.
func (w *Tokenizer) Pieces(text string, most int) (ids []int64, cut bool) {
	for _, word := range w.words(text) {
		ids = append(ids, w.pieces(word)...)
		if len(ids) > most {
			return ids[:most], true
		}
	}
	return ids, false
}

// words are the words and signs of a text, normalised.
func (w *Tokenizer) words(text string) []string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case w.clean && (r == 0 || r == unicode.ReplacementChar || isControl(r)):
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case w.ideographs && isIdeograph(r):
			b.WriteString(" " + string(r) + " ")
		default:
			b.WriteRune(r)
		}
	}
	text = b.String()
	if w.accents {
		text = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Mn, r) {
				return -1
			}
			return r
		}, norm.NFD.String(text))
	}
	if w.lower {
		text = strings.ToLower(text)
	}
	var out []string
	for word := range strings.FieldsSeq(text) {
		from := 0
		for i, r := range word {
			if !isPunctuation(r) {
				continue
			}
			if i > from {
				out = append(out, word[from:i])
			}
			out, from = append(out, string(r)), i+len(string(r))
		}
		if from < len(word) {
			out = append(out, word[from:])
		}
	}
	return out
}

// pieces are the longest pieces of the vocabulary that make up a word, from its beginning.
func (w *Tokenizer) pieces(word string) []int64 {
	letters := []rune(word)
	if len(letters) > w.longest {
		return []int64{w.unknown}
	}
	var out []int64
	for from := 0; from < len(letters); {
		prefix := ""
		if from > 0 {
			prefix = w.inner
		}
		to := len(letters)
		for ; to > from; to-- {
			if id, ok := w.vocabulary[prefix+string(letters[from:to])]; ok {
				out = append(out, id)
				break
			}
		}
		if to == from {
			return []int64{w.unknown}
		}
		from = to
	}
	return out
}

func isControl(r rune) bool { return r != '\t' && r != '\n' && r != '\r' && unicode.Is(unicode.C, r) }

func isPunctuation(r rune) bool {
	return r < unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) || unicode.IsPunct(r)
}

// isIdeograph has the ranges that BERT treats as Chinese characters. Each such character is a word.
func isIdeograph(r rune) bool {
	for _, of := range [...][2]rune{
		{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B820, 0x2CEAF},
		{0xF900, 0xFAFF}, {0x2F800, 0x2FA1F},
	} {
		if r >= of[0] && r <= of[1] {
			return true
		}
	}
	return false
}
