// Package layers holds no code. Its test checks the direction of imports. Every folder of the module has a place in
// one order, and imports only earlier folders.
package layers
