package weaviate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"github.com/weaviate/weaviate/usecases/byteops"

	"github.com/mneme-memory/mneme/shared/memory"
)

// object reads the properties of a result. err keeps the first unreadable time.
type object struct {
	fields map[string]*pb.Value
	err    error
}

func open(r *pb.SearchResult) *object {
	return &object{fields: r.GetProperties().GetNonRefProps().GetFields()}
}

func (o *object) text(name string) string { return o.fields[name].GetTextValue() }

func (o *object) int(name string) int {
	if v, isInt := o.fields[name].GetKind().(*pb.Value_IntValue); isInt {
		return int(v.IntValue)
	}
	return int(o.number(name))
}

func (o *object) number(name string) float64 { return o.fields[name].GetNumberValue() }

func (o *object) flag(name string) bool { return o.fields[name].GetBoolValue() }

// time reads a time in UTC. It returns the zero time for a missing value.
func (o *object) time(name string) time.Time {
	value := cmp.Or(o.fields[name].GetDateValue(), o.text(name))
	if value == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("decode property %s: %w", name, err)
	}
	return t.UTC()
}

// decodeEntry reads an entry from the properties of entryFields.
func decodeEntry(r *pb.SearchResult) (memory.Memory, error) {
	o := open(r)
	var m memory.Memory
	if err := json.Unmarshal([]byte(o.text(propEntry)), &m); err != nil {
		return memory.Memory{}, fmt.Errorf("decode property %s: %w", propEntry, err)
	}
	m.Status, m.ValidTo = memory.Status(o.text(propStatus)), o.time(propValidTo)
	if raw := r.GetMetadata().GetVectorBytes(); len(raw) > 0 {
		m.Vector = byteops.Float32FromByteVector(raw)
	}
	return m, o.err
}

func decodeTurn(r *pb.SearchResult) (memory.Turn, error) {
	o := open(r)
	t := memory.Turn{
		ID: o.text("turnId"), SessionID: o.text("sessionId"), Speaker: o.text("speaker"), Role: memory.Role(o.text("role")),
		Text: o.text("text"), Caption: o.text("caption"), Time: o.time("time"),
	}
	if raw := o.text("saliency"); raw != "" && o.err == nil {
		if err := json.Unmarshal([]byte(raw), &t.Saliency); err != nil {
			o.err = fmt.Errorf("decode saliency of turn %s: %w", t.ID, err)
		}
	}
	if raw := o.text(propAttributes); raw != "" && o.err == nil {
		if err := json.Unmarshal([]byte(raw), &t.Attributes); err != nil {
			o.err = fmt.Errorf("decode attributes of turn %s: %w", t.ID, err)
		}
	}
	return t, o.err
}

func decodeSession(r *pb.SearchResult) (memory.SessionRecord, error) {
	o := open(r)
	record := memory.SessionRecord{
		SessionID: o.text("sessionId"), FormedAt: o.time("formedAt"), Turns: o.int("turns"), Operations: o.int("operations"),
		Closed: o.flag("closed"),
	}
	return record, o.err
}

// decodeAll decodes all results or none.
func decodeAll[T any](results []*pb.SearchResult, decode func(*pb.SearchResult) (T, error)) ([]T, error) {
	out := make([]T, 0, len(results))
	for _, r := range results {
		v, err := decode(r)
		if err != nil {
			return nil, fmt.Errorf("object %s: %w", r.GetMetadata().GetId(), err)
		}
		out = append(out, v)
	}
	return out, nil
}
