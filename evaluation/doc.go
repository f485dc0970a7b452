// Package evaluation measures what formation makes of conversations whose truth is known: what the filter keeps,
// what the memories still say of what was told, and whether updates reach the entries they should. The pipeline
// runs the consolidation's own activities over stores in the process's memory; the measures are functions
// of what any run left behind, so that they serve a run on real servers as well.
//
// Recall is measured on a running system, through the doors that its users have: conversations go in by Kafka, questions are asked by RPC,
// and the diagnosis says where evidence was lost. Raw turns are searched in process beside it, for comparison.
package evaluation
