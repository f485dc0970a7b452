package mem0

import (
	"fmt"
	"slices"

	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// parser reads filters.
type parser struct {
	entities int
	// narrow reports whether there is a condition that does not only name an entity.
	narrow bool
}

// request reads the filters of a request, and the other selecting fields.
func (p *parser) request(in fields) (condition, error) {
	beside, err := p.parseTopLevel(in)
	if err != nil {
		return nil, err
	}
	filters, err := in.object("filters")
	if err != nil {
		return nil, err
	}
	c, err := p.object(filters, "filters")
	return allOf{beside, c}, err
}

// parseTopLevel reads the selecting fields outside the filters: entities, and the separate fields that clients send.
func (p *parser) parseTopLevel(in fields) (all allOf, err error) {
	categories, err := in.texts("categories")
	if err != nil {
		return nil, err
	}
	conditions := fields{"metadata": in["metadata"]}
	if len(categories) > 0 {
		conditions["categories"] = in["categories"]
	}
	for _, name := range entityFields {
		conditions[name] = in[name]
	}
	for _, name := range sortedKeys(conditions) {
		if !conditions.has(name) {
			continue
		}
		c, err := p.field(name, conditions[name], "")
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	for _, end := range [][2]string{{"start_date", "gte"}, {"end_date", "lte"}} {
		if !in.has(end[0]) {
			continue
		}
		p.narrow = true
		c, err := timeReader("created_at")(end[0], end[1], in[end[0]])
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// object reads an object of filters. All of them must hold.
func (p *parser) object(in fields, where string) (condition, error) {
	var all allOf
	for _, name := range sortedKeys(in) {
		c, err := p.part(name, in[name], where)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// part reads a field of an object of filters.
func (p *parser) part(name string, value any, where string) (condition, error) {
	at := where + "." + name
	switch name {
	case "AND", "OR", "NOT":
	default:
		return p.field(name, value, where+".")
	}
	parts, ok := value.([]any)
	if object, one := value.(map[string]any); one {
		parts, ok = []any{object}, true
	}
	if !ok {
		return nil, wrongType(at, "", value, "a list of conditions")
	}
	out := make([]condition, len(parts))
	for i, part := range parts {
		object, ok := part.(map[string]any)
		if !ok {
			return nil, wrongType(fmt.Sprintf("%s[%d]", at, i), "", part, "an object")
		}
		var err error
		if out[i], err = p.object(object, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return nil, err
		}
	}
	switch name {
	case "OR":
		if len(out) == 0 {
			return nil, problem.Invalid(at, "is empty")
		}
		return anyOf(out), nil
	case "NOT":
		p.narrow = true
		return noneOf(out), nil
	}
	return allOf(out), nil
}

// field reads a condition on a field.
func (p *parser) field(name string, value any, where string) (condition, error) {
	if slices.Contains(entityFields, name) {
		ids, ok, err := idsOf(name, value, where+name)
		if err != nil {
			return nil, err
		}
		if ok {
			p.entities++
			p.narrow = p.narrow || p.entities > 1
			out := binding{firm: firmnessOf[name]}
			for _, id := range ids {
				out.users = append(out.users, owner(kindOfField(name), id))
			}
			out.test, err = fieldTest(name, value, where+name)
			return out, err
		}
	}
	p.narrow = true
	is, err := fieldTest(name, value, where+name)
	return is, err
}

// idsOf returns the entities in a condition, by their ids or by operators. ok reports whether the condition names
// an entity.
func idsOf(field string, value any, at string) (ids []string, ok bool, err error) {
	if object, is := value.(map[string]any); is && len(object) == 1 {
		for operator, operand := range object {
			if operator != "eq" && operator != "in" {
				return nil, false, nil
			}
			value = operand
		}
	}
	switch v := value.(type) {
	case string:
		ids = []string{v}
	case []any:
		for _, one := range v {
			id, is := one.(string)
			if !is {
				return nil, false, wrongType(at, "", one, "text")
			}
			ids = append(ids, id)
		}
	default:
		return nil, false, nil
	}
	if slices.Contains(ids, wildcard) {
		return nil, false, nil
	}
	for _, id := range ids {
		if err := validEntity(at, field, id); err != nil {
			return nil, false, err
		}
	}
	return ids, len(ids) > 0, nil
}
