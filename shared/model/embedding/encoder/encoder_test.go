package encoder_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/embedding/encoder"
	"github.com/mneme-memory/mneme/shared/model/onnx/onnxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder writes a model.
func folder(t testing.TB, s onnxtest.Shape) (string, onnxtest.Model) {
	t.Helper()
	dir := t.TempDir()
	m, err := onnxtest.Write(dir, s, 1)
	if err != nil {
		t.Fatal(err)
	}
	return dir, m
}

func open(t testing.TB, dir string, log *strings.Builder) *encoder.Encoder {
	t.Helper()
	if log == nil {
		log = &strings.Builder{}
	}
	e, err := encoder.Open(dir, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func embed(t testing.TB, e *encoder.Encoder, texts ...string) [][]float32 {
	t.Helper()
	out, err := e.Embed(t.Context(), texts)
	if err != nil || len(out) != len(texts) {
		t.Fatalf("%d vectors, %v", len(out), err)
	}
	return out
}

// plainly is BERT in plain code, with the weights of a model in their order.
type plainly struct {
	weights [][]float32
	width   int
}

func (p *plainly) next() []float32 {
	w := p.weights[0]
	p.weights = p.weights[1:]
	return w
}

func (p *plainly) linear(x [][]float64, out int) [][]float64 {
	w, bias := p.next(), p.next()
	y := make([][]float64, len(x))
	for i := range x {
		y[i] = make([]float64, out)
		for j := range out {
			y[i][j] = float64(bias[j])
			for k, v := range x[i] {
				y[i][j] += v * float64(w[k*out+j])
			}
		}
	}
	return y
}

func (p *plainly) normalised(a, b [][]float64) [][]float64 {
	scale, shift := p.next(), p.next()
	y := make([][]float64, len(a))
	for i := range a {
		y[i] = make([]float64, p.width)
		mean, variance := 0.0, 0.0
		for k := range y[i] {
			y[i][k] = a[i][k] + b[i][k]
			mean += y[i][k] / float64(p.width)
		}
		for _, v := range y[i] {
			variance += (v - mean) * (v - mean) / float64(p.width)
		}
		for k, v := range y[i] {
			y[i][k] = (v-mean)/math.Sqrt(variance+1e-5)*float64(scale[k]) + float64(shift[k])
		}
	}
	return y
}

// attend mixes the values of tokens by the match of their keys with the queries, for each head.
func (p *plainly) attend(x [][]float64, heads int) [][]float64 {
	q, k, v := p.linear(x, p.width), p.linear(x, p.width), p.linear(x, p.width)
	out, d := make([][]float64, len(x)), p.width/heads
	for i := range x {
		out[i] = make([]float64, p.width)
		for h := range heads {
			total, shares := 0.0, make([]float64, len(x))
			for j := range x {
				for c := h * d; c < (h+1)*d; c++ {
					shares[j] += q[i][c] * k[j][c] / math.Sqrt(float64(d))
				}
				shares[j] = math.Exp(shares[j])
				total += shares[j]
			}
			for j := range x {
				for c := h * d; c < (h+1)*d; c++ {
					out[i][c] += shares[j] / total * v[j][c]
				}
			}
		}
	}
	return out
}

// embedded is the vector of a text of some tokens: the mean of the first pooled tokens.
func embedded(m onnxtest.Model, ids []int, pooled int) []float64 {
	s := m.Shape
	p := &plainly{weights: m.Weights, width: s.Width}
	words, positions, types := p.next(), p.next(), p.next()
	x, zero := make([][]float64, len(ids)), make([][]float64, len(ids))
	for i, id := range ids {
		x[i], zero[i] = make([]float64, s.Width), make([]float64, s.Width)
		for k := range x[i] {
			x[i][k] = float64(words[id*s.Width+k]) + float64(positions[i*s.Width+k]) + float64(types[k])
		}
	}
	x = p.normalised(x, zero)
	for range s.Layers {
		seen := p.attend(x, s.Heads)
		x = p.normalised(p.linear(seen, s.Width), x)
		inner := p.linear(x, s.Inner)
		for _, row := range inner {
			for k, v := range row {
				row[k] = 0.5 * v * (1 + math.Erf(v/math.Sqrt2))
			}
		}
		x = p.normalised(p.linear(inner, s.Width), x)
	}
	mean, square := make([]float64, s.Width), 0.0
	for k := range mean {
		for i := range pooled {
			mean[k] += x[i][k] / float64(pooled)
		}
		square += mean[k] * mean[k]
	}
	for k := range mean {
		mean[k] /= math.Sqrt(square)
	}
	return mean
}

func TestTheModelIsComputedAsItIsWritten(t *testing.T) {
	for _, decomposed := range []bool{false, true} {
		s := onnxtest.Tiny
		s.Decomposed = decomposed
		dir, m := folder(t, s)
		e := open(t, dir, nil)
		if e.Dimension() != s.Width || e.Longest() != s.Positions-2 || !strings.HasSuffix(e.Model(), "/8") {
			t.Errorf("%d numbers of %s, texts of %d tokens", e.Dimension(), e.Model(), e.Longest())
		}
		for text, ids := range map[string][]int{
			"Tea":                     {2, 4, 3},
			"Ana drinks green tea.":   {2, 8, 6, 7, 5, 4, 14, 3},
			"The CAFÉ,liking \u0007茶": {2, 9, 10, 13, 1, 15, 3},
			"[CLS] xyz":               {2, 1, 1, 1, 1, 3},
		} {
			near(t, text, embed(t, e, text)[0], embedded(m, ids, len(ids)))
		}
	}
}

// near fails unless two vectors are equal within rounding.
func near(t *testing.T, text string, got []float32, want []float64) {
	t.Helper()
	for k := range want {
		if math.Abs(float64(got[k])-want[k]) > 1e-4 {
			t.Errorf("%q: got %v, want %v", text, got, want)
			return
		}
	}
}

func TestTheFirstTokenStandsForTheSentenceWhereTheModelSaysSo(t *testing.T) {
	dir, m := folder(t, onnxtest.Tiny)
	mean := open(t, dir, nil)
	change(t, dir, "1_Pooling/config.json", func(c map[string]any) {
		c["pooling_mode_mean_tokens"], c["pooling_mode_cls_token"] = false, true
	})
	change(t, dir, "tokenizer.json", func(c map[string]any) {
		c["post_processor"] = map[string]any{"type": "BertProcessing", "cls": []any{"[CLS]", 2}, "sep": []any{"[SEP]", 3}}
	})
	first := open(t, dir, nil)
	near(t, "ana", embed(t, first, "ana")[0], embedded(m, []int{2, 8, 3}, 1))
	if first.Model() == mean.Model() {
		t.Error("another pooling has the same name")
	}
}

func TestTextsAreEmbeddedEachByItself(t *testing.T) {
	dir, _ := folder(t, onnxtest.Tiny)
	e := open(t, dir, nil)
	texts := []string{"tea", " \n", "ana likes tea", "tea", ""}
	out := embed(t, e, texts...)
	for i, text := range texts {
		if !slices.Equal(out[i], embed(t, e, text)[0]) {
			t.Errorf("%q has another vector beside others", text)
		}
	}
	if !slices.Equal(out[1], make([]float32, 8)) || !slices.Equal(out[4], make([]float32, 8)) {
		t.Error("a blank text has a direction")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(ctx, texts); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestATextThatIsTooLongIsCutAndThatIsSaidOnce(t *testing.T) {
	var log strings.Builder
	dir, _ := folder(t, onnxtest.Tiny)
	e := open(t, dir, &log)
	fits := strings.Repeat("tea ", 8)
	if embed(t, e, fits); log.Len() > 0 {
		t.Errorf("a text that fits: %s", &log)
	}
	if whole, cut := embed(t, e, fits)[0], embed(t, e, fits+"green secret")[0]; !slices.Equal(whole, cut) {
		t.Error("more than the beginning was embedded")
	}
	embed(t, e, strings.Repeat("green ", 1000))
	if n := strings.Count(log.String(), "longer"); n != 1 || !strings.Contains(log.String(), "tokens=10") ||
		strings.Contains(log.String(), "secret") {
		t.Errorf("logged %q", &log)
	}
}

func TestModelsAreKnownByWhatIsInThem(t *testing.T) {
	one, _ := folder(t, onnxtest.Tiny)
	same, _ := folder(t, onnxtest.Tiny)
	other := t.TempDir()
	if _, err := onnxtest.Write(other, onnxtest.Tiny, 2); err != nil {
		t.Fatal(err)
	}
	a, b, c := open(t, one, nil).Model(), open(t, same, nil).Model(), open(t, other, nil).Model()
	if a != b || a == c {
		t.Errorf("models %s, %s and %s, want the first two alike", a, b, c)
	}
}

// change rewrites a JSON file of a folder.
func change(t *testing.T, dir, name string, f func(map[string]any)) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	data, err := os.ReadFile(at)
	var content map[string]any
	if err := errors.Join(err, json.Unmarshal(data, &content)); err != nil {
		t.Fatal(err)
	}
	f(content)
	data, err = json.Marshal(content)
	if err := errors.Join(err, os.WriteFile(at, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotBeUsedIsNamed(t *testing.T) {
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(name string, data []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tokenizer := func(part, field string, value any) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			change(t, dir, "tokenizer.json", func(c map[string]any) { c[part].(map[string]any)[field] = value })
		}
	}
	file := onnxtest.New(onnxtest.Tiny, 1).File
	for name, tt := range map[string]struct {
		breaks func(*testing.T, string)
		says   string
	}{
		"no model":       {remove("model.onnx"), "model.onnx"},
		"no tokenizer":   {remove("tokenizer.json"), "tokenizer.json"},
		"no ONNX":        {write("model.onnx", []byte("weights")), "not an ONNX file"},
		"half a model":   {write("model.onnx", file[:len(file)/2]), "not an ONNX file"},
		"an empty model": {write("model.onnx", nil), "not an ONNX file"},
		"another operator": {write("model.onnx", []byte(strings.ReplaceAll(string(file), "Softmax", "Hardmax"))),
			"Hardmax"},
		"another input": {write("model.onnx",
			[]byte(strings.ReplaceAll(string(file), "attention_mask", "attention_bias"))), "_bias"},
		"another tokenizer":  {tokenizer("model", "type", "Unigram"), "Unigram"},
		"another normalizer": {tokenizer("normalizer", "type", "Precompiled"), "Precompiled"},
		"another ending":     {tokenizer("post_processor", "type", "Roberta"), "Roberta"},
		"no unknown token":   {tokenizer("model", "unk_token", "<unk>"), "<unk>"},
		"a larger vocabulary": {
			func(t *testing.T, dir string) {
				change(t, dir, "tokenizer.json", func(c map[string]any) {
					c["model"].(map[string]any)["vocab"].(map[string]any)["dimension"] = 400
				})
			}, "cannot be run",
		},
		"another pooling": {
			func(t *testing.T, dir string) {
				change(t, dir, "1_Pooling/config.json", func(c map[string]any) { c["pooling_mode_cls_token"] = true })
			}, "pooling_mode_cls_token",
		},
		"no length": {
			func(t *testing.T, dir string) {
				remove("config.json")(t, dir)
				remove("sentence_bert_config.json")(t, dir)
			}, "max_seq_length",
		},
		"no room": {write("sentence_bert_config.json", []byte(`{"max_seq_length": 2}`)), "at most 2 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := folder(t, onnxtest.Tiny)
			tt.breaks(t, dir)
			_, err := encoder.Open(dir, slog.New(slog.DiscardHandler))
			if !fault.IsTerminal(err) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want it to say %q", err, tt.says)
			}
		})
	}
	if _, err := encoder.Open("", nil); !fault.IsTerminal(err) {
		t.Errorf("no folder: %v", err)
	}
}

func BenchmarkEmbed(b *testing.B) {
	for name, s := range map[string]onnxtest.Shape{"tiny": onnxtest.Tiny, "MiniLM": onnxtest.MiniLM} {
		dir, _ := folder(b, s)
		e := open(b, dir, nil)
		for _, tokens := range []int{8, 16, 32, 64, 128} {
			if tokens > e.Longest() {
				continue
			}
			text := strings.Repeat("tea ", tokens-2)
			b.Run(fmt.Sprintf("%s/%d tokens", name, tokens), func(b *testing.B) {
				for b.Loop() {
					embed(b, e, text)
				}
			})
		}
	}
}
