package floatmatrix

import "golang.org/x/sys/cpu"

var supported = cpu.X86.HasAVX512F

// tile writes tileRows by up to tileColumns numbers of a product; columns has a bit for each of these. Rows are outBy, aBy and bBy bytes
// apart, and those of a have inner numbers.
//
//go:noescape
func tile(out, a, b *float32, outBy, aBy, bBy, inner, columns int)
