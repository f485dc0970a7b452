package consolidation

import (
	"encoding/json"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// compressFrom is the size in bytes from which a payload is compressed. A compressor costs a megabyte of memory and
// a quarter of a millisecond however short the payload is, and most signals and results are short.
const compressFrom = 16 << 10

// DataConverter is JSON, compressed where it is large and that makes it smaller.
func DataConverter() converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(),
		compressLarge{converter.NewZlibCodec(converter.ZlibCodecOptions{})})
}

// compressLarge leaves small payloads as they are. Either form is decoded, whatever wrote it.
type compressLarge struct{ converter.PayloadCodec }

// Encode implements converter.PayloadCodec.
func (c compressLarge) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if len(p.GetData()) < compressFrom {
			out[i] = p
			continue
		}
		encoded, err := c.PayloadCodec.Encode([]*commonpb.Payload{p})
		if err != nil {
			return nil, err
		}
		out[i] = encoded[0]
	}
	return out, nil
}

// maxPayloadBytes bounds what a step is given and what it returns, as JSON: Temporal takes 2 MB, and what is larger than this would
// take a former too long, however small it became by compression.
const maxPayloadBytes = 1900 << 10

// fits refuses what is too large for a payload, so that its batch is taken in smaller parts.
func fits(what string, value any) error {
	n, err := size(value)
	if err != nil {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("%s cannot be encoded: %v", what, err), errorTerminal, err)
	}
	if n > maxPayloadBytes {
		return tooLarge("%s has %d bytes, more than the %d of one step", what, n, maxPayloadBytes)
	}
	return nil
}

// tooLarge is the error that has a batch taken in smaller parts.
func tooLarge(format string, args ...any) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(format, args...), errorTooLarge, nil)
}

// size is how many bytes a value has as JSON: up to six times those of a text, as some characters are escaped. Encoding gives the same
// bytes each time, which the check of determinism cannot see.
//
//workflowcheck:ignore
func size(value any) (int, error) {
	data, err := json.Marshal(value)
	return len(data), err
}
