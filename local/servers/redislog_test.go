package servers_test

import (
	"reflect"
	"testing"

	"github.com/mneme-memory/mneme/local/servers"
)

func FuzzRedisLogRecord(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(servers.EncodeLogRecord(servers.LogRecord{At: 1, Commands: [][]string{{"SET", "k", ""}}}))
	f.Add(servers.EncodeLogRecord(servers.LogRecord{At: -1, Commands: [][]string{{"MULTI"}, {"DEL", "\xff\x00"}, {"EXEC"}}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, n, err := servers.DecodeLogRecord(raw)
		if err != nil {
			return
		}
		if n <= 0 || n > len(raw) {
			t.Fatalf("a record of %d bytes in %d", n, len(raw))
		}
		again, _, err := servers.DecodeLogRecord(servers.EncodeLogRecord(r))
		if err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("%v became %v (%v)", r, again, err)
		}
	})
}

func TestRedisLogRecordCutAnywhereIsNotRead(t *testing.T) {
	raw := servers.EncodeLogRecord(servers.LogRecord{At: 7, Commands: [][]string{{"HSET", "key", "field", "value"}}})
	for n := range raw {
		if r, _, err := servers.DecodeLogRecord(raw[:n]); err == nil {
			t.Errorf("%d of %d bytes were read as %v", n, len(raw), r)
		}
	}
}
