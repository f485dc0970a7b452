package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Row is one measurement with its baseline.
type Row struct {
	// Name is the value for --only, and What describes the measure for people.
	Name string `json:"name"`
	What string `json:"what"`
	// N is the number of samples, or units of work, over all Rounds.
	N      int `json:"n"`
	Rounds int `json:"rounds"`
	// Unit is ms for times, or a rate such as events/s. A rate is the median of the rounds.
	Unit string  `json:"unit"`
	P50  float64 `json:"p50,omitempty"`
	P99  float64 `json:"p99,omitempty"`
	Rate float64 `json:"rate,omitempty"`
	// Baseline is the figure of BaselineWhat in the same run: the p50, or the median rate.
	Baseline     float64 `json:"baseline"`
	BaselineP99  float64 `json:"baseline_p99,omitempty"`
	BaselineWhat string  `json:"baseline_what"`
	// Ratio is the measured figure divided by the baseline, as the median over the rounds.
	Ratio  float64 `json:"ratio"`
	Target string  `json:"target"`
	Met    bool    `json:"met"`
}

// target is the goal of a row.
type target struct {
	text string
	met  func(Row) bool
}

// atMost limits a time to a multiple of its baseline.
func atMost(times float64) target {
	return target{fmt.Sprintf("p50 <= %g x baseline", times), func(r Row) bool { return r.Ratio <= times }}
}

// atLeast requires a rate of at least a share of its baseline.
func atLeast(share float64) target {
	return target{fmt.Sprintf("rate >= %.2g x baseline", share), func(r Row) bool { return r.Ratio >= share }}
}

// above limits a time to its baseline plus the given milliseconds.
func above(ms float64) target {
	return target{fmt.Sprintf("p50 <= baseline + %g ms", ms), func(r Row) bool { return r.P50 <= r.Baseline+ms }}
}

// faster limits the p50 itself, in milliseconds.
func faster(ms float64) target {
	return target{fmt.Sprintf("p50 <= %g ms", ms), func(r Row) bool { return r.P50 <= ms }}
}

func (r *Row) judge(a target) { r.Target, r.Met = a.text, a.met(*r) }

const unitMilliseconds = "ms"

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func writeJSON(w io.Writer, rows []Row) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

func writeTable(w io.Writer, rows []Row) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"what", "n", "p50 or rate", "p99", "baseline", "baseline p99", "ratio", "target", "met"})
	for _, r := range rows {
		met := "yes"
		if !r.Met {
			met = "NO"
		}
		value := r.P50
		if r.Unit != unitMilliseconds {
			value = r.Rate
		}
		t.AppendRow(table.Row{
			r.What, r.N, figure(value) + " " + r.Unit, figure(r.P99),
			figure(r.Baseline) + " (" + r.BaselineWhat + ")", figure(r.BaselineP99), figure(r.Ratio), r.Target, met,
		})
	}
	t.Render()
}

// figure formats three significant digits. It returns an empty text for an unmeasured value.
func figure(v float64) string {
	switch {
	case v == 0 || math.IsNaN(v):
		return ""
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
