//go:build !amd64

package bytematrix

var vnni layout

func native() (layout, bool) { return layout{}, false }

func largest(*float32, int, *[lanes]float32) { panic("bytematrix: not on this processor") }

func quantizeToBytes(*int8, *float32, int, float32, *[lanes]int32) {
	panic("bytematrix: not on this processor")
}

func quantizeToWords(*int16, *float32, int, float32, *[lanes]int32) {
	panic("bytematrix: not on this processor")
}

func tileOfBytes(*float32, *int8, *uint8, *float32, *float32, *int32, int, int, int) {
	panic("bytematrix: not on this processor")
}

func tileOfWords(*float32, *int16, *uint8, *float32, *float32, *int32, int, int, int) {
	panic("bytematrix: not on this processor")
}
