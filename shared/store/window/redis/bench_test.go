package redis_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window/redis"
)

func BenchmarkAppendMiniredis(b *testing.B) {
	w, _ := open(b, miniredis.RunT(b).Addr(), limits)
	benchmarkAppend(b, w)
}

// benchmarkAppend adds one turn per call, over a thousand users.
func benchmarkAppend(b *testing.B, w *redis.Window) {
	start := time.Unix(1_700_000_000, 0)
	n := 0
	for b.Loop() {
		scope := memory.Scope{Tenant: "acme", User: strconv.Itoa(n % 1000)}
		turn := memory.Turn{
			ID: strconv.Itoa(n), SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser,
			Text: "I moved to Lisbon last spring and started at a small design studio.",
			Time: start.Add(time.Duration(n) * time.Second),
		}
		if err := w.Append(b.Context(), scope, []memory.Turn{turn}); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
