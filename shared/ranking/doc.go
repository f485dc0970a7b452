// Package ranking orders candidate memories for a query, and learns from their citations. This is the retrospective
// reflection of RMM (section 6). The package is pure: it has no I/O and no globals, and its only randomness is a
// passed source. Equal inputs give equal results, except for the last bits, which machines round differently.
// Replicas agree because they read the weights that one of them has stored.
//
// The score of a candidate with features f and embedding m for a query with embedding q is
//
//	s = q'.m' + w.f        q' = q + Wq q        m' = m + Wm m
//
// The maps are small for any dimension: Wq = P^T Aq P and Wm = P^T Am P. P projects onto Rank numbers (see
// Projector) and Aq, Am are square. As the rows of P are orthonormal,
//
//	q'.m' = q.m + (Aq q~).m~ + q~.(Am m~) + (Aq q~).(Am m~)        q~ = P q        m~ = P m
//
// so a ranker needs only the number q.m and the projections, and not the embeddings.
//
// Weights are the learned parameters, Settings the parameters of learning. Top orders by score. Settings.Sample
// draws an order to explore. A Trace keeps the data of a decision until the citations come. Settings.Learn then
// moves a State by them. Pretrain makes the Prior, the start of every tenant.
package ranking
