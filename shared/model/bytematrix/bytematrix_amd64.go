package bytematrix

import "golang.org/x/sys/cpu"

var (
	vnni = layout{tileRows: 8, tileColumns: 32, stepRows: 4, offset: 128}
	avx2 = layout{tileRows: 6, tileColumns: 16, stepRows: 2}

	hasVNNI = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VNNI
	hasAVX2 = cpu.X86.HasAVX2
)

// native returns the layout of the best instructions of this processor. It returns false where the processor lacks
// them.
func native() (layout, bool) {
	if hasVNNI {
		return vnni, true
	}
	return avx2, hasAVX2
}

// largest writes the largest absolute values of the numbers at each sixteenth place.
//
//go:noescape
func largest(from *float32, n int, most *[lanes]float32)

// quantizeToBytes writes numbers times a factor as the nearest bytes, and the sums of the bytes at each sixteenth
// place.
//
//go:noescape
func quantizeToBytes(to *int8, from *float32, n int, by float32, sums *[lanes]int32)

// quantizeToWords writes numbers times a factor as the nearest numbers of two bytes. The sums stay 0: words need no
// offset.
//
//go:noescape
func quantizeToWords(to *int16, from *float32, n int, by float32, sums *[lanes]int32)

// tileOfBytes writes 8 rows by 32 columns of a product. Rows of out are stride bytes apart, rows of steps height
// numbers. The argument count is the number of steps of the packed matrix.
//
//go:noescape
func tileOfBytes(
	out *float32, steps *int8, packed *uint8, columnFactors, rowFactors *float32, offsets *int32, stride, height,
	count int,
)

// tileOfWords is the same for 6 rows by 16 columns, without offsets.
//
//go:noescape
func tileOfWords(
	out *float32, steps *int16, packed *uint8, columnFactors, rowFactors *float32, offsets *int32, stride, height,
	count int,
)
