// Package encoder embeds texts in the process, with a sentence encoder from a local folder in the layout of
// sentence-transformers. The folder has an ONNX model and a WordPiece tokenizer. The sentence's vector is the mean
// of the tokens' vectors, or the first one (decision 14). The package downloads nothing.
package encoder

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/onnx"
	"github.com/mneme-memory/mneme/shared/model/wordpiece"
)

// Encoder embeds with a model in the process. It is safe for concurrent use.
type Encoder struct {
	network   *onnx.Network
	tokenizer *wordpiece.Tokenizer
	dimension int
	// most is the maximum number of tokens of a text.
	most int
	// first says that the vector of a sentence is the vector of its first token, not the mean.
	first bool
	model string
	log   *slog.Logger
	cut   sync.Once
}

var _ embedding.Embedder = (*Encoder)(nil)

// Open reads the folder of a model, and embeds a word to check that the model runs. For a missing or unsupported
// part it returns a terminal error that names the file.
func Open(folder string, log *slog.Logger) (*Encoder, error) {
	if folder == "" {
		return nil, fault.Terminal("folder", "is not set, want the folder of a model: model.onnx, tokenizer.json, "+
			"config.json")
	}
	e := &Encoder{log: log}
	sum := sha256.New()
	model, at, err := readFirst(folder, "model.onnx", "onnx/model.onnx")
	if err != nil {
		return nil, err
	}
	if e.network, err = onnx.Parse(model); err != nil {
		return nil, fault.Terminal("folder", "%s %w", at, err)
	}
	sum.Write(model)
	tokenizer, at, err := readFirst(folder, "tokenizer.json")
	if err != nil {
		return nil, err
	}
	if e.tokenizer, err = wordpiece.Parse(tokenizer); err != nil {
		return nil, fault.Terminal("folder", "%s %w", at, err)
	}
	sum.Write(tokenizer)
	if e.most, err = longest(folder); err != nil {
		return nil, err
	}
	before, after := e.tokenizer.Around()
	if least := len(before) + len(after); e.most <= least {
		return nil, fault.Terminal("folder",
			"%s is for texts of at most %d tokens, want more than the %d tokens around each text", folder, e.most,
			least)
	}
	if e.first, err = firstPooled(folder); err != nil {
		return nil, err
	}
	ids, _ := e.tokenizer.Tokens("dimension", e.most)
	if _, e.dimension, err = e.network.Run(ids, nil); err != nil {
		return nil, fault.Terminal("folder", "the model of %s cannot be run: %w", folder, err)
	}
	fmt.Fprintf(sum, "%d %t", e.most, e.first)
	e.model = fmt.Sprintf("onnx-%x/%d", sum.Sum(nil)[:6], e.dimension)
	return e, nil
}

// readFirst reads the first existing file of a list of names in a folder.
func readFirst(folder string, names ...string) (data []byte, at string, err error) {
	for _, name := range names {
		at = filepath.Join(folder, filepath.FromSlash(name))
		if data, err = os.ReadFile(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return nil, at, fault.Terminal("folder", "%s has no readable %s: %w", folder, strings.Join(names, " or "), err)
	}
	return data, at, nil
}

// setting reads a JSON file of the folder. A missing file leaves into unchanged.
func setting(folder, name string, into any) error {
	at := filepath.Join(folder, filepath.FromSlash(name))
	data, err := os.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fault.Terminal("folder", "%s: %w", at, err)
	}
	return nil
}

// longest returns the maximum number of tokens of a text: the smallest limit in the files of a folder.
func longest(folder string) (int, error) {
	var model struct {
		Positions int `json:"max_position_embeddings"`
	}
	var sentences struct {
		Length int `json:"max_seq_length"`
	}
	if err := errors.Join(setting(folder, "config.json", &model),
		setting(folder, "sentence_bert_config.json", &sentences)); err != nil {
		return 0, err
	}
	switch {
	case model.Positions > 0 && sentences.Length > 0:
		return min(model.Positions, sentences.Length), nil
	case model.Positions > 0 || sentences.Length > 0:
		return max(model.Positions, sentences.Length), nil
	}
	return 0, fault.Terminal("folder", "%s has no maximum length of a text, want max_position_embeddings in config.json "+
		"or max_seq_length in sentence_bert_config.json", folder)
}

// firstPooled says whether the vector of a sentence is the vector of its first token, rather than the mean of all.
// It refuses other ways.
func firstPooled(folder string) (bool, error) {
	const mean, first = "pooling_mode_mean_tokens", "pooling_mode_cls_token"
	pooling := map[string]any{}
	if err := setting(folder, "1_Pooling/config.json", &pooling); err != nil {
		return false, err
	}
	var on []string
	for name, value := range pooling {
		if strings.HasPrefix(name, "pooling_mode_") && value == true {
			on = append(on, name)
		}
	}
	if len(on) > 1 || len(on) == 1 && on[0] != mean && on[0] != first {
		slices.Sort(on)
		return false, fault.Terminal("folder", "%s has %q, want %s or %s alone",
			filepath.Join(folder, "1_Pooling", "config.json"), on, mean, first)
	}
	return len(on) == 1 && on[0] == first, nil
}

// Dimension implements embedding.Embedder.
func (e *Encoder) Dimension() int { return e.dimension }

// Model implements embedding.Embedder. The value depends on the contents of the files, not on their folder.
func (e *Encoder) Model() string { return e.model }

// Longest is the maximum number of tokens of a text. The encoder cuts a longer text.
func (e *Encoder) Longest() int { return e.most }

// Embed implements embedding.Embedder. It embeds only the beginning of a text beyond the model's maximum. It logs
// the length of the first such text, and not the text.
func (e *Encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, text := range texts {
		group.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			out[i], err = e.embed(text)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

func (e *Encoder) embed(text string) ([]float32, error) {
	mean := make([]float32, e.Dimension())
	if strings.TrimSpace(text) == "" {
		return mean, nil
	}
	ids, cut := e.tokenizer.Tokens(text, e.most)
	if cut {
		e.cut.Do(func() {
			e.log.Warn("a text is longer than the embedding model takes, and its beginning is embedded; said once, "+
				"others may follow",
				"bytes", len(text), "tokens", e.most)
		})
	}
	out, _, err := e.network.Run(ids, nil)
	if err != nil {
		return nil, fault.Terminal("text", "cannot be embedded: %w", err)
	}
	pooled := len(ids)
	if e.first {
		pooled = 1
	}
	square := 0.0
	for k := range mean {
		sum := 0.0
		for t := range pooled {
			sum += float64(out[t*len(mean)+k])
		}
		mean[k] = float32(sum / float64(pooled))
		square += float64(mean[k]) * float64(mean[k])
	}
	norm := math.Sqrt(square)
	if !(norm > 0 && norm < math.Inf(1)) {
		return nil, fault.Terminal("text", "has a vector without a direction by %s", e.model)
	}
	for k := range mean {
		mean[k] = float32(float64(mean[k]) / norm)
	}
	return mean, nil
}
