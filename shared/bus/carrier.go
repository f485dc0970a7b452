package bus

import "slices"

// HeaderCarrier lets a propagator read and write the headers of a record. Names are compared exactly. Of repeated
// headers the last one counts, as in the Java client.
type HeaderCarrier struct {
	// Headers is the list that Set changes.
	Headers *[]Header
}

// Get returns the value of a header, or "".
func (c HeaderCarrier) Get(key string) string {
	for _, h := range slices.Backward(*c.Headers) {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// Set replaces every header of that name by one.
func (c HeaderCarrier) Set(key, value string) {
	kept := slices.DeleteFunc(slices.Clone(*c.Headers), func(h Header) bool { return h.Key == key })
	*c.Headers = append(kept, Header{Key: key, Value: []byte(value)})
}

// Keys returns the names, each once, in the order of their first appearance.
func (c HeaderCarrier) Keys() []string {
	var keys []string
	seen := make(map[string]struct{}, len(*c.Headers))
	for _, h := range *c.Headers {
		if _, ok := seen[h.Key]; !ok {
			seen[h.Key] = struct{}{}
			keys = append(keys, h.Key)
		}
	}
	return keys
}
