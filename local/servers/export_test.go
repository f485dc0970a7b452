package servers

import "time"

// LogRecord is a record of the Redis log as tests see it.
type LogRecord struct {
	At       int64 // nanoseconds
	Commands [][]string
}

// EncodeLogRecord returns a record's bytes.
func EncodeLogRecord(r LogRecord) []byte {
	return record{at: time.Unix(0, r.At), commands: r.Commands}.encode(nil)
}

// DecodeLogRecord reads the first record.
func DecodeLogRecord(raw []byte) (LogRecord, int, error) {
	r, n, err := decode(raw)
	if err != nil {
		return LogRecord{}, 0, err
	}
	return LogRecord{At: r.at.UnixNano(), Commands: r.commands}, n, nil
}

// WritePid records a process as a child of an earlier run.
func WritePid(file string, pid int) error { return writePid(file, pid) }
