package console

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// JSON returns a message as JSON. Field names are those in proto/. Enumerations have the documentation's words
// ("fact", "active") instead of the contracts' constants.
func JSON(m proto.Message) json.RawMessage {
	data, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		return json.RawMessage(fmt.Sprintf("%q", "cannot be encoded: "+err.Error()))
	}
	return constant.ReplaceAllFunc(data, func(match []byte) []byte {
		parts := constant.FindSubmatch(match)
		return fmt.Appendf(nil, "%s:%q", parts[1], strings.ToLower(string(parts[3])))
	})
}

// constant matches an enumeration's field with its value. Quotes in a text are escaped, so it matches no text.
var constant = regexp.MustCompile(
	`("(?:kind|status|role|precision|state|stage)"): ?"(KIND|STATUS|ROLE|PRECISION|FORMATION_STATE|STAGE)_([A-Z_]+)"`)

// JSONs returns messages as JSON.
func JSONs[M proto.Message](ms []M) []json.RawMessage {
	out := make([]json.RawMessage, len(ms))
	for i, m := range ms {
		out[i] = JSON(m)
	}
	return out
}
