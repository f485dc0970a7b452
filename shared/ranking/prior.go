package ranking

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Prior is the shared start of all tenants' weights, with the features' names.
type Prior struct {
	// Names are the features' names, in the order of Weights.W.
	Names []string
	// Weights are the numbers; their version is 0.
	Weights Weights
	// Embedding is the embedder that they were fitted to, as it names itself; empty means the built-in one.
	Embedding string
}

// priorFormat names the layout of the file.
const priorFormat = "mneme-ranking-prior/1"

// priorFile is the file of a prior. People read it, so it has a name with each weight.
type priorFile struct {
	Format     string         `json:"format"`
	FeatureSet string         `json:"feature_set"`
	Embedding  string         `json:"embedding,omitempty"`
	Features   []priorFeature `json:"features"`
	Aq         []float32      `json:"aq,omitempty"`
	Am         []float32      `json:"am,omitempty"`
}

type priorFeature struct {
	Name   string  `json:"name"`
	Weight float32 `json:"weight"`
	Scale  float32 `json:"scale"`
}

// EncodePrior writes a prior as JSON, exactly.
func EncodePrior(p Prior) ([]byte, error) {
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("encode prior: %w", err)
	}
	file := priorFile{
		Format: priorFormat, FeatureSet: p.Weights.FeatureSet, Embedding: p.Embedding, Features: []priorFeature{},
		Aq: p.Weights.Aq, Am: p.Weights.Am,
	}
	for i, name := range p.Names {
		file.Features = append(file.Features, priorFeature{Name: name, Weight: p.Weights.W[i],
			Scale: float32(p.Weights.scale(i))})
	}
	b, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode prior: %w", err)
	}
	return append(b, '\n'), nil
}

func (p Prior) validate() error {
	if err := p.Weights.Validate(); err != nil {
		return err
	}
	if len(p.Names) != len(p.Weights.W) {
		return fault.Terminal("features", "has %d names, want one for each of %d weights", len(p.Names), len(p.Weights.W))
	}
	seen := map[string]bool{}
	for i, name := range p.Names {
		if name == "" || len(name) > MaxIDBytes || seen[name] {
			return fault.Terminal("features.name", "is %q at %d, want 1 to %d bytes, each once", name, i, MaxIDBytes)
		}
		seen[name] = true
	}
	return nil
}

// DecodePrior reads a prior for features that the caller knows: featureSet and names, in their order. Others are
// terminal errors (ErrFeatureSet) that name them.
func DecodePrior(b []byte, featureSet string, names []string) (Prior, error) {
	file, err := readPrior(b)
	if err != nil {
		return Prior{}, fmt.Errorf("decode prior: %w", err)
	}
	p := Prior{Embedding: file.Embedding, Weights: Weights{FeatureSet: file.FeatureSet, Aq: file.Aq, Am: file.Am}}
	for _, f := range file.Features {
		p.Names = append(p.Names, f.Name)
		p.Weights.W, p.Weights.FeatureScale = append(p.Weights.W, f.Weight), append(p.Weights.FeatureScale, f.Scale)
	}
	switch {
	case file.FeatureSet != featureSet:
		err = fault.Terminal("feature_set", "is %q, want %q: %w", file.FeatureSet, featureSet, ErrFeatureSet)
	case !slices.Equal(p.Names, names):
		err = fault.Terminal("features", "are %q, want %q: %w", p.Names, names, ErrFeatureSet)
	default:
		err = p.validate()
	}
	if err != nil {
		return Prior{}, fmt.Errorf("decode prior: %w", err)
	}
	return p, nil
}

func readPrior(b []byte) (priorFile, error) {
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.DisallowUnknownFields()
	var file priorFile
	if err := decoder.Decode(&file); err != nil {
		return priorFile{}, fault.Terminal("", "is not a prior: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return priorFile{}, fault.Terminal("", "has data after its end")
	}
	if file.Format != priorFormat {
		return priorFile{}, fault.Terminal("format", "is %q, want %q", file.Format, priorFormat)
	}
	return file, nil
}
