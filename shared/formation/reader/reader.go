// Package reader marks the words of a turn that a person would write down about the speaker. A small transformer reads
// the turn with the turn before it and gives each word its chance to be part of a memory. It marks words only, so it
// can invent nothing.
package reader

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/model/onnx"
	"github.com/mneme-memory/mneme/shared/model/wordpiece"
)

// ErrModel is the error for bytes that are no reader for this code.
var ErrModel = errors.New("not a reader of turns")

// Kind is the kind of a note.
type Kind int

// The kinds of notes, in the order of the model's outputs.
const (
	Fact Kind = iota
	Preference
	Constraint
	Episode
	Procedure
	Plan
	kinds
)

// Places of the outputs of a token.
const (
	outKeep = iota
	outBegin
	outKinds
	outEnds  = outKinds + int(kinds)
	outOwn   = outEnds + 1
	outBrief = outOwn + 1
	outputs  = outBrief + 1
)

// Limits in tokens, as in training. A longer turn is read in parts. Of the turn before it, the end is read.
const (
	longestBefore = 64
	longestTurn   = 160
	// longestRead is the number of tokens that are read of a turn, half at its beginning and half at its end: some 800
	// words, which take a quarter of a second. People paste longer texts, and speak for themselves before or behind them.
	longestRead = 8 * longestTurn
)

// output is the name of the network's output.
const output = "marks"

// Word is a word of a turn with its marks. The marks are log-odds.
type Word struct {
	// From and To are the bytes of the word in the turn.
	From, To int
	// Keep is for a word that is part of a note, and Begin for the first word of one.
	Keep, Begin float64
	// Kinds are for the kinds of the note.
	Kinds [kinds]float64
}

// Model reads turns. It is safe for concurrent use.
type Model struct {
	network   *onnx.Network
	tokenizer *wordpiece.Tokenizer
}

// Parse reads an ONNX file that lab/reader/train.py wrote. Other files are an ErrModel.
func Parse(network []byte, tokenizer *wordpiece.Tokenizer) (*Model, error) {
	n, err := onnx.ParseOutputs(network, output)
	if err != nil {
		return nil, fmt.Errorf("%w: network %w", ErrModel, err)
	}
	m := &Model{network: n[0], tokenizer: tokenizer}
	if before, after := tokenizer.Around(); len(before) != 1 || len(after) != 1 {
		return nil, fmt.Errorf("%w: tokenizer has %d tokens before a text and %d behind it, want 1 and 1", ErrModel,
			len(before), len(after))
	}
	_, err = m.read(strings.Repeat("before ", longestBefore), strings.Repeat("turn ", longestTurn+1))
	return m, err
}

// Read marks the words of a turn, in order. The turn before it helps: an answer needs its question. No text makes it
// panic, because Parse has run the network.
func (m *Model) Read(before, turn string) []Word {
	words, err := m.read(before, turn)
	if err != nil {
		panic(err)
	}
	return words
}

// token is a token of a word.
type token struct {
	id   int64
	word int
}

func (m *Model) read(before, turn string) ([]Word, error) {
	_, context := m.tokens(before)
	words, tokens := m.tokens(turn)
	if len(tokens) > longestRead {
		tokens = slices.Concat(tokens[:longestRead/2], tokens[len(tokens)-longestRead/2:])
	}
	for from := 0; from < len(tokens); from += longestTurn {
		part := tokens[from:min(len(tokens), from+longestTurn)]
		if err := m.mark(words, context, part); err != nil {
			return nil, err
		}
		context = part[max(0, len(part)-longestBefore/2):]
	}
	for i := range words {
		words[i].divide(float64(count(tokens, i)))
	}
	return words, nil
}

// count counts the tokens of a word.
func count(tokens []token, word int) int {
	from, _ := slices.BinarySearchFunc(tokens, word, func(t token, w int) int { return t.word - w })
	n := 0
	for ; from+n < len(tokens) && tokens[from+n].word == word; n++ {
	}
	return n
}

// mark adds the network's outputs for a part of a turn to the part's words.
func (m *Model) mark(words []Word, context, part []token) error {
	first, last := m.tokenizer.Around()
	context = context[max(0, len(context)-longestBefore):]
	ids := slices.Clone(first)
	for _, t := range context {
		ids = append(ids, t.id)
	}
	ids = append(ids, last...)
	types, from := make([]int64, len(ids)), len(ids)
	for _, t := range part {
		ids, types = append(ids, t.id), append(types, 1)
	}
	ids, types = append(ids, last...), append(types, 1)
	out, width, err := m.network.Run(ids, types)
	if err == nil && width != outputs {
		err = fmt.Errorf("gives %d numbers a token, want %d", width, outputs)
	}
	if err != nil {
		return fmt.Errorf("%w: network %w", ErrModel, err)
	}
	for i, t := range part {
		words[t.word].add(out[(from+i)*width:][:width])
	}
	return nil
}

func (w *Word) add(z []float32) {
	w.Keep += float64(z[outKeep])
	if begin := float64(z[outBegin]); w.Begin == 0 || begin > w.Begin {
		w.Begin = begin
	}
	for k := range w.Kinds {
		w.Kinds[k] += float64(z[outKinds+k])
	}
}

// never are the log-odds of what cannot be.
const never = -100

// divide makes means of the sums over a word's tokens. Begin is the largest. A word without read tokens is part of no
// note: an invisible character, or a word in the middle of a long text.
func (w *Word) divide(n float64) {
	if n == 0 {
		w.Keep, w.Begin = never, never
		return
	}
	w.Keep /= n
	for k := range w.Kinds {
		w.Kinds[k] /= n
	}
}

// unspaced are the scripts without spaces between words, and their marks. Each of their characters is a word.
var unspaced = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x0E00, Hi: 0x0E7F, Stride: 1}, {Lo: 0x3001, Hi: 0x3002, Stride: 1}, {Lo: 0x3040, Hi: 0x30FF, Stride: 1},
	{Lo: 0x31F0, Hi: 0x31FF, Stride: 1}, {Lo: 0x3400, Hi: 0x4DBF, Stride: 1}, {Lo: 0x4E00, Hi: 0x9FFF, Stride: 1},
	{Lo: 0xFF01, Hi: 0xFF1F, Stride: 1},
}}

// tokens returns the words of a text and their tokens, as in training. White space parts words.
func (m *Model) tokens(text string) (words []Word, tokens []token) {
	add := func(from, to int) {
		if from == to {
			return
		}
		pieces, _ := m.tokenizer.Pieces(text[from:to], math.MaxInt)
		for _, id := range pieces {
			tokens = append(tokens, token{id: id, word: len(words)})
		}
		words = append(words, Word{From: from, To: to})
	}
	from := 0
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unicode.IsSpace(r):
			add(from, i)
			from = i + size
		case unicode.Is(unspaced, r):
			add(from, i)
			add(i, i+size)
			from = i + size
		}
	}
	add(from, len(text))
	return words, tokens
}

// Shipped returns the model of the program. It takes some hundredths of a second, once.
var Shipped = sync.OnceValue(func() *Model {
	m, err := Parse(shippedNetwork, wordpiece.Uncased())
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return m
})

//go:embed model.onnx
var shippedNetwork []byte
