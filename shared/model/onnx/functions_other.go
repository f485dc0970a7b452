//go:build !amd64

package onnx

var wide = false

func exponentials512(*float32, *float32, int, float32, *[16]float32) {
	panic("onnx: not on this processor")
}

func gelu512(*float32, *float32, int) { panic("onnx: not on this processor") }
