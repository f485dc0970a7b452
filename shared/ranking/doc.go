// Package ranking orders candidate memories for a query, and learns from their citations: the retrospective reflection
// of RMM (section 6). It is pure: no I/O, no globals, and randomness only from a source that the caller passes in.
// Equal inputs give equal results, except for the last bits, which machines round differently. Replicas agree because
// they read one stored result.
//
// The score of a candidate with features f and embedding m for a query with embedding q is
//
//	s = q'.m' + w.f        q' = q + Wq q        m' = m + Wm m
//
// The maps stay small for every dimension. Wq = P^T Aq P and Wm = P^T Am P, where P projects onto Rank numbers (see
// Projector) and Aq, Am are square. As the rows of P are orthonormal,
//
//	q'.m' = q.m + (Aq q~).m~ + q~.(Am m~) + (Aq q~).(Am m~)        q~ = P q        m~ = P m
//
// so a ranker needs only the number q.m and the projections of the embeddings.
//
// Weights are the learned values, and Settings the parameters of learning. Top orders by score, and Settings.Sample
// draws an order to explore. A Trace keeps the inputs of the order until the citations come, and Settings.Learn moves a
// State by them. Every tenant starts from a shipped Prior, which the laboratory trains.
package ranking
