// Package layering holds no code. Its test keeps the direction of imports: contracts (proto) know nothing of
// ours, shared packages know contracts, workflows know shared packages, services know all of them; ports of the domain know no
// driver, and the services' binaries hold no stand-in for a server.
package layering
