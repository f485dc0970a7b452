package consolidation

import (
	"encoding/json"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// compressFrom is the size in bytes from which a payload is compressed. A compressor costs a megabyte of memory and a
// quarter of a millisecond, even for a short payload. Most signals and results are short.
const compressFrom = 16 << 10

// DataConverter encodes as JSON. It compresses large payloads if that makes them smaller.
func DataConverter() converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(),
		compressLarge{converter.NewZlibCodec(converter.ZlibCodecOptions{})})
}

// compressLarge leaves small payloads as they are. It decodes both forms.
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

// maxPayloadBytes limits the arguments and results of a step, as JSON. Temporal accepts 2 MB. A larger payload would
// take a former too long, however small it became by compression.
const maxPayloadBytes = 1900 << 10

// fits refuses a value that is too large for a payload, so that its batch is split.
func fits(what string, value any) error {
	n, err := size(value)
	if err != nil {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("%s cannot be encoded: %v", what, err), errorTerminal,
			err)
	}
	if n > maxPayloadBytes {
		return tooLarge("%s has %d bytes, more than the %d of one step", what, n, maxPayloadBytes)
	}
	return nil
}

// tooLarge is the error that splits a batch into smaller parts.
func tooLarge(format string, args ...any) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(format, args...), errorTooLarge, nil)
}

// size returns the size of a value as JSON, in bytes. Escaped characters make it up to six times the size of the
// text. Encoding gives the same bytes each time, but the check of determinism cannot see that.
//
//workflowcheck:ignore
func size(value any) (int, error) {
	data, err := json.Marshal(value)
	return len(data), err
}
