// Package learning is how a policy of decisions gets better by rewards: group-relative advantages, the clipped surrogate with a penalty
// for leaving the reference, SaliMory's contrast of pairs, Memory-R2's local groups beside global ones, and Adam. A decision is a
// choice among options that have features and log-odds of their own; the policy is a softmax over these and a head's scores. Everything
// is deterministic, and knows neither what is decided nor where rewards come from.
package learning
