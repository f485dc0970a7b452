package mcp

import (
	"fmt"
	"slices"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// schema is a JSON schema.
type schema map[string]any

// property is an argument in a schema.
type property struct {
	name     string
	required bool
	schema   schema
}

// object takes these properties and no others.
func object(properties ...property) schema {
	all, required := schema{}, []string{}
	for _, p := range properties {
		all[p.name] = p.schema
		if p.required {
			required = append(required, p.name)
		}
	}
	out := schema{"type": "object", "properties": all, "additionalProperties": false}
	if len(required) > 0 { // older drafts of JSON schema, which some clients go by, take no empty list
		out["required"] = required
	}
	return out
}

// needed is the property where it cannot be left out.
func (p property) needed() property {
	p.required = true
	return p
}

// text is a text of 1 to limit bytes.
func text(name, description string, limit int) property {
	return property{name: name, schema: schema{
		"type": "string", "description": fmt.Sprintf("%s At most %d bytes.", description, limit), "minLength": 1,
		"maxLength": limit,
	}}
}

// content is a text, or a list of parts with a type.
func content(name, description string) property {
	part := schema{"type": "object", "properties": schema{"type": schema{"type": "string"}}, "required": []string{"type"}}
	return property{name: name, schema: schema{
		"type": []string{"string", "array", "null"}, "items": part,
		"description": fmt.Sprintf("%s At most %d bytes of text.", description, memory.MaxTurnBytes),
	}}
}

// anything is a value of any type.
func anything(name, description string) property {
	return property{name: name, schema: schema{"description": description}}
}

// word is one of some words.
func word(name, description string, of ...string) property {
	return property{name: name, schema: schema{"type": "string", "description": description, "enum": of}}
}

// number is a whole number.
func number(name, description string, low, high, otherwise int) property {
	return property{name: name, schema: schema{
		"type": "integer", "minimum": low, "maximum": high,
		"description": fmt.Sprintf("%s Default: %d.", description, otherwise),
	}}
}

// list is a list of at most so many items.
func list(name, description string, most int, items schema) property {
	return property{name: name, schema: schema{"type": "array", "description": description, "maxItems": most,
		"items": items}}
}

func userID() property {
	return text("user_id", "The end user. Optional if the API key is for one user only.", memory.MaxUserBytes)
}

func memoryID() property {
	return text("memory_id", "The memory's id, as other tools return it.", memory.MaxIDBytes).needed()
}

func query() property {
	return text("query", "The question or message that needs memories, in plain words.", memory.MaxQueryBytes).needed()
}

// confirm must be true, so a mistake erases nothing.
func confirm() property {
	return property{name: "confirm", required: true, schema: schema{
		"type": "boolean", "description": "true, once the user has agreed that everything is erased for good.",
	}}
}

// optional checks a text that may be left out.
func optional(field, value string, limit int) error {
	if value == "" {
		return nil
	}
	return memory.ValidText(field, value, limit)
}

// between checks a number that may be left out.
func between(field string, n *int, low, high int) error {
	if n != nil && (*n < low || *n > high) {
		return problem.Invalid(field, fmt.Sprintf("is %d, want %d to %d", *n, low, high))
	}
	return nil
}

// oneOf checks a word.
func oneOf(field, value string, of ...string) error {
	if slices.Contains(of, value) {
		return nil
	}
	return problem.Invalid(field, fmt.Sprintf("is %q, want one of %q", shortened(value), of))
}
