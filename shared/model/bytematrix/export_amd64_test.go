package bytematrix

import "testing"

// LeaveOutVNNI runs a test without AVX-512.
func LeaveOutVNNI(t *testing.T) {
	before := hasVNNI
	hasVNNI = false
	t.Cleanup(func() { hasVNNI = before })
}
