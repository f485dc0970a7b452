package score

import (
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"
)

// Share is n divided by of, 0 to 1. It is 0 if of is 0.
func Share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Percent writes a share of 0 to 1 with one decimal.
func Percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

// Percentiles of values; zero for no values.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	N   int     `json:"n"`
}

// PercentilesOf returns the smallest values that half, and 99 %, of the values do not exceed.
func PercentilesOf(values []float64) Percentiles {
	if len(values) == 0 {
		return Percentiles{}
	}
	sorted := slices.Sorted(slices.Values(values))
	at := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, sorted, nil) }
	return Percentiles{P50: at(0.5), P99: at(0.99), N: len(sorted)}
}
