package onnx

import "golang.org/x/sys/cpu"

var wide = cpu.X86.HasAVX512F

// exponentials512 writes e to the power of each number less most, and the sums of the results at each sixteenth
// place.
//
//go:noescape
func exponentials512(to, from *float32, n int, most float32, sums *[16]float32)

// gelu512 writes each number times the share of the normal distribution that is below it, within 1e-6.
//
//go:noescape
func gelu512(to, from *float32, n int)
