//go:build !amd64

package bytematrix

const supported = false

func largest(*float32, int, *[lanes]float32) { panic("bytematrix: not on this processor") }

func quantize(*int8, *float32, int, float32, *[lanes]int32) {
	panic("bytematrix: not on this processor")
}

func tile(*float32, *int8, *uint8, *float32, *float32, *int32, int, int, int) {
	panic("bytematrix: not on this processor")
}
