package floatmatrix

import "golang.org/x/sys/cpu"

var (
	has512 = cpu.X86.HasAVX512F
	has256 = cpu.X86.HasAVX2 && cpu.X86.HasFMA
)

// tile512 writes 8 rows of up to 16 columns of a product. The argument columns has a bit for each of these. Rows
// are outBy, aBy and bBy bytes apart. Rows of a have inner numbers.
//
//go:noescape
func tile512(out, a, b *float32, outBy, aBy, bBy, inner, columns int)

// tile256 writes 6 rows of 16 columns of a product. Rows of out and a are outBy and aBy bytes apart. Rows of b
// follow each other. Rows of a have inner numbers.
//
//go:noescape
func tile256(out, a, b *float32, outBy, aBy, inner int)
