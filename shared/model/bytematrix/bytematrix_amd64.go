package bytematrix

import "golang.org/x/sys/cpu"

var supported = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VNNI

// largest writes the largest absolute values of the numbers at each sixteenth place.
//
//go:noescape
func largest(from *float32, n int, most *[lanes]float32)

// quantize writes numbers times a factor as the nearest bytes, and the sums of those at each sixteenth place.
//
//go:noescape
func quantize(to *int8, from *float32, n int, by float32, sums *[lanes]int32)

// tile writes tileRows by tileColumns numbers of a product: rows of out are stride bytes apart, those of steps height bytes; count is how
// many steps of the packed matrix there are.
//
//go:noescape
func tile(out *float32, steps *int8, packed *uint8, columnFactors, rowFactors *float32, offsets *int32, stride, height, count int)
