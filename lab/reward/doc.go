// Package reward computes the rewards of the decisions that form memory, as the papers define them. It has DeltaMem's
// state transition, SaliMory's rewards of stages, MemBuilder's dense reward of a session and Memory-R2's reward of a
// horizon. Rewards of answers alone serve for comparison. All are pure functions of records: they call no model and
// read no store. Where a paper leaves a formula open, or prints it in two ways, both readings are options. An
// implementation of Judge supplies the judgements.
package reward
