package consolidation_test

import (
	"strings"
	"testing"

	"go.temporal.io/sdk/converter"

	"github.com/mneme-memory/mneme/workflows/consolidation"
)

func TestDataConverterCompressesLargePayloadsOnly(t *testing.T) {
	dc := consolidation.DataConverter()
	for name, c := range map[string]struct {
		text    string
		smaller bool
	}{
		"empty":              {"", false},
		"a turn":             {strings.Repeat("I moved to Porto. ", 10), false},
		"a batch of turns":   {strings.Repeat("I moved to Porto. ", 5000), true},
		"just below a batch": {strings.Repeat("x", 16<<10-3), false}, // plus two quotes
	} {
		t.Run(name, func(t *testing.T) {
			p, err := dc.ToPayload(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(p.GetData()) < len(c.text); got != c.smaller {
				t.Errorf("%d bytes became %d, compressed %v, want %v", len(c.text), len(p.GetData()), got, c.smaller)
			}
			var back string
			if err := dc.FromPayload(p, &back); err != nil {
				t.Fatal(err)
			}
			if back != c.text {
				t.Error("the payload does not come back as it was")
			}
		})
	}
}

func TestDataConverterReadsWhatWasCompressedBefore(t *testing.T) {
	always := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(),
		converter.NewZlibCodec(converter.ZlibCodecOptions{AlwaysEncode: true}))
	p, err := always.ToPayload("short")
	if err != nil {
		t.Fatal(err)
	}
	var back string
	if err := consolidation.DataConverter().FromPayload(p, &back); err != nil || back != "short" {
		t.Errorf("got %q, %v", back, err)
	}
}
