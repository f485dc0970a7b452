//go:build !amd64

package floatmatrix

var has512, has256 = false, false

func tile512(*float32, *float32, *float32, int, int, int, int, int) {
	panic("floatmatrix: not on this processor")
}

func tile256(*float32, *float32, *float32, int, int, int) {
	panic("floatmatrix: not on this processor")
}
