// Package layers holds no code. Its test keeps the direction of imports: every folder of the module has a place in one order, and
// imports only what stands before it.
package layers
