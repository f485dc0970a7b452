package consolidation

import (
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
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
