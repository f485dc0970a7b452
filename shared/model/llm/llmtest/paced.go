package llmtest

import (
	"net/http"
	"time"
)

// Paced answers like the fake model after the latency of a real model: base, plus perToken for every token of the
// answer. It is for benchmarks. No test waits on it.
func Paced(base, perToken time.Duration) Step {
	return func(w http.ResponseWriter, r *http.Request, c Call) {
		answer := fakeAnswer(c)
		timer := time.NewTimer(base + time.Duration(len(answer)/4)*perToken)
		defer timer.Stop()
		select {
		case <-timer.C:
			writeChoice(w, c, answer, "stop", "")
		case <-r.Context().Done():
		}
	}
}
