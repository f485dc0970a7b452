package problem

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// Allowance is the state of a caller's limits after a request.
type Allowance struct {
	// Limit, Remaining and Reset describe the nearest limit. A Limit of 0 means no limit.
	Limit, Remaining int
	Reset            time.Duration
	// RetryAfter is more than zero where the call is over a limit.
	RetryAfter time.Duration
	// Quota names the limit that was reached ("requests per second").
	Quota string
	// Unavailable means that the limits are not available now.
	Unavailable bool
}

// RateLimitStatus is the header for limits that are not available now.
const RateLimitStatus = "X-RateLimit-Status"

// SetHeaders writes the remaining allowance into headers.
func (a Allowance) SetHeaders(h http.Header) {
	if a.Unavailable {
		h.Set(RateLimitStatus, "unavailable")
	}
	if a.Limit > 0 {
		h.Set("X-RateLimit-Limit", strconv.Itoa(a.Limit))
		h.Set("X-RateLimit-Remaining", strconv.Itoa(a.Remaining))
		h.Set("X-RateLimit-Reset", Seconds(a.Reset))
	}
}

// Seconds formats a duration for a header, in whole seconds, rounded up.
func Seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
