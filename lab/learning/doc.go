// Package learning improves a policy of decisions by rewards. It has group-relative advantages, and the clipped
// surrogate with a penalty for leaving the reference. It also has SaliMory's contrast of pairs, Memory-R2's local and
// global groups, and Adam. A decision is a choice among options with features and log-odds. The policy is a softmax
// over the log-odds and a head's scores. Everything is deterministic and independent of the decisions' content and of
// the source of the rewards.
package learning
