package contract

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Field numbers of tenant_id and user_id, the same in every event.
const (
	fieldTenant protowire.Number = 3
	fieldUser   protowire.Number = 4
)

// OwnerOf returns the owner that an encoded event names. It also reads records that another check refuses, as far
// as possible. The zero scope means no owner.
func OwnerOf(value []byte) memory.Scope {
	var s memory.Scope
	for len(value) > 0 {
		num, typ, n := protowire.ConsumeTag(value)
		if n < 0 {
			return s
		}
		value = value[n:]
		size := protowire.ConsumeFieldValue(num, typ, value)
		if size < 0 {
			return s
		}
		if typ == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(value)
			switch num {
			case fieldTenant:
				s.Tenant = string(content)
			case fieldUser:
				s.User = string(content)
			}
		}
		value = value[size:]
	}
	return s
}
