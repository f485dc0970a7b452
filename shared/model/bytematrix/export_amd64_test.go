package bytematrix

import "testing"

// LeaveOutVNNI has a test run without AVX-512.
func LeaveOutVNNI(t *testing.T) {
	before := hasVNNI
	hasVNNI = false
	t.Cleanup(func() { hasVNNI = before })
}
