// Package ranking orders candidate memories for a query, and learns from which of them were cited: the retrospective
// reflection of RMM (section 6). It is pure: no I/O, no globals, and chance only from a source that is passed in. Equal inputs give equal
// results, but for the last bits, which machines round differently; replicas agree because they read what one of them has stored.
//
// The score of a candidate with features f and embedding m for a query with embedding q is
//
//	s = q'.m' + w.f        q' = q + Wq q        m' = m + Wm m
//
// The maps are kept small whatever the dimension: Wq = P^T Aq P and Wm = P^T Am P, where P projects onto Rank numbers
// (see Projector) and Aq, Am are square. As the rows of P are orthonormal,
//
//	q'.m' = q.m + (Aq q~).m~ + q~.(Am m~) + (Aq q~).(Am m~)        q~ = P q        m~ = P m
//
// so q.m, given as a number, and the projections are all that a ranker needs to see of the embeddings.
//
// Weights are what is learned, Settings how. Top orders by score, Settings.Sample draws an order to explore; a Trace keeps
// what was decided on until the citations come, and Settings.Learn moves a State by them. Pretrain makes the Prior that
// every tenant starts from.
package ranking
