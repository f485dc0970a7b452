//go:build !amd64

package floatmatrix

var supported = false

func tile(*float32, *float32, *float32, int, int, int, int, int) {
	panic("floatmatrix: not on this processor")
}
