package llmtest

import (
	"net/http"
	"time"
)

// Paced answers as the fake model does, after as long as a model would take: base, and perToken for every token of the answer. It is for
// benchmarks; no test waits on it.
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
