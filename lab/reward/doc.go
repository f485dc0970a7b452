// Package reward computes what the decisions that form memory are worth, as the papers define it: DeltaMem's state transition, SaliMory's
// rewards of stages, MemBuilder's dense reward of a session and Memory-R2's of a horizon, with those that look at answers alone to
// compare them to. All are pure functions of records: they ask no model and read no store. Where a paper leaves a formula open, or prints
// it in two ways, both readings are options. What takes judgement is asked of a Judge, which others implement.
package reward
