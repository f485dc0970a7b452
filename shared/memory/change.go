package memory

// Change is an applied operation in its announced form.
type Change struct {
	// OperationID is derived from the operation: equal for equal changes.
	OperationID string `json:"operation_id"`
	Kind        OpKind `json:"kind"`
	// MemoryID is the written entry, or the first entry retracted or released.
	MemoryID string `json:"memory_id"`
	// Closed are the entries that the operation superseded or retracted.
	Closed []string `json:"closed,omitempty"`
	// Tier is TierTalk if all written, closed and released entries are talk.
	Tier Tier `json:"tier,omitempty"`
}

// Changes lists the changes of operations, without NONE. The argument existing has the targets, as for Plan.
func Changes(scope Scope, ops []Operation, existing []Memory) []Change {
	tiers := make(map[string]Tier, len(existing))
	for _, m := range existing {
		tiers[m.ID] = m.Tier
	}
	var out []Change
	for _, op := range ops {
		c := Change{OperationID: DeriveOperationID(scope, op), Kind: op.Kind}
		switch op.Kind {
		case OpAdd:
			c.MemoryID = op.New.ID
		case OpUpdate, OpMerge:
			c.MemoryID, c.Closed = op.New.ID, op.Targets
		case OpDelete:
			c.MemoryID, c.Closed = op.Targets[0], op.Targets
		case OpRelease:
			c.MemoryID = op.Targets[0]
		default:
			continue
		}
		if op.New != nil {
			tiers[op.New.ID] = op.New.Tier
		}
		c.Tier = TierTalk
		for _, id := range append([]string{c.MemoryID}, op.Targets...) {
			if tiers[id] != TierTalk {
				c.Tier = TierMemory
			}
		}
		out = append(out, c)
	}
	return out
}
