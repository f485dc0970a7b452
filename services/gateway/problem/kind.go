package problem

import "encoding/json"

// KindOf names the type of a decoded JSON value in the detail of a problem, with its article.
func KindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case json.Number, float64:
		return "a number"
	case string:
		return "text"
	case []any:
		return "a list"
	}
	return "an object"
}
