package servers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"time"
)

// ErrDamagedLog is returned when the log of the embedded Redis cannot be read although it is not merely cut off.
var ErrDamagedLog = errors.New("redis log damaged")

// errTorn means that a record is cut off: the process ended while it was written, so nobody was told that it happened.
var errTorn = errors.New("record cut off")

// record is one atomic step: a command, or a transaction from MULTI to EXEC, and the server's time at which it ran.
type record struct {
	at       time.Time
	commands [][]string
}

// A record in the file is its payload's length and CRC-32C (4 bytes each, little endian), then the payload: the time in
// nanoseconds, the number of commands, and for each the number of words and the words with their lengths, all varints.
const (
	headerLen  = 8
	maxPayload = 1 << 30
)

func checksum(payload []byte) uint32 {
	return crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli))
}

// encode appends the record to dst.
func (r record) encode(dst []byte) []byte {
	payload := binary.AppendVarint(nil, r.at.UnixNano())
	payload = binary.AppendUvarint(payload, uint64(len(r.commands)))
	for _, command := range r.commands {
		payload = binary.AppendUvarint(payload, uint64(len(command)))
		for _, word := range command {
			payload = binary.AppendUvarint(payload, uint64(len(word)))
			payload = append(payload, word...)
		}
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	dst = binary.LittleEndian.AppendUint32(dst, checksum(payload))
	return append(dst, payload...)
}

// decode reads the first record of raw and how many bytes it takes. The error is errTorn when raw ends before it does.
func decode(raw []byte) (record, int, error) {
	if len(raw) < headerLen {
		return record{}, 0, errTorn
	}
	size, sum := binary.LittleEndian.Uint32(raw), binary.LittleEndian.Uint32(raw[4:])
	if size == 0 || size > maxPayload {
		return record{}, 0, ErrDamagedLog
	}
	if uint64(len(raw)-headerLen) < uint64(size) {
		return record{}, 0, errTorn
	}
	payload := raw[headerLen : headerLen+int(size)]
	if checksum(payload) != sum {
		return record{}, 0, ErrDamagedLog
	}
	r, err := decodePayload(bytes.NewReader(payload))
	if err != nil {
		return record{}, 0, fmt.Errorf("%w: %w", ErrDamagedLog, err)
	}
	return r, headerLen + int(size), nil
}

func decodePayload(in *bytes.Reader) (record, error) {
	nanos, err := binary.ReadVarint(in)
	if err != nil {
		return record{}, err
	}
	r := record{at: time.Unix(0, nanos)}
	count, err := readCount(in)
	if err != nil {
		return record{}, err
	}
	for range count {
		command, err := decodeCommand(in)
		if err != nil {
			return record{}, err
		}
		r.commands = append(r.commands, command)
	}
	if in.Len() != 0 {
		return record{}, errors.New("bytes after the last command")
	}
	return r, nil
}

func decodeCommand(in *bytes.Reader) ([]string, error) {
	words, err := readCount(in)
	if err != nil {
		return nil, err
	}
	if words == 0 {
		return nil, errors.New("empty command")
	}
	command := make([]string, 0, words)
	for range words {
		size, err := readCount(in)
		if err != nil {
			return nil, err
		}
		word := make([]byte, size)
		_, _ = in.Read(word) // readCount has made sure that this many are left
		command = append(command, string(word))
	}
	return command, nil
}

// readCount reads a count of things that take at least a byte each, so that no count asks for more memory than there is
// input.
func readCount(in *bytes.Reader) (int, error) {
	count, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, err
	}
	if count > uint64(in.Len()) {
		return 0, errors.New("count beyond the end")
	}
	return int(count), nil
}

// readLog returns all whole records of a file. A missing file has none; a record cut off at the end is left out.
func readLog(file string) ([]record, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read redis log: %w", err)
	}
	var records []record
	for offset := 0; offset < len(raw); {
		r, n, err := decode(raw[offset:])
		if errors.Is(err, errTorn) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read redis log %s at byte %d: %w", file, offset, err)
		}
		records = append(records, r)
		offset += n
	}
	return records, nil
}

// writeLog replaces a log by the records.
func writeLog(file string, records []record) error {
	var raw []byte
	for _, r := range records {
		raw = r.encode(raw)
	}
	return replaceFile(file, raw)
}

// commandLog is a log that is being written. It is used by one goroutine at a time.
type commandLog struct {
	file *os.File
	size int64
	bad  error // set when the file may end in half a record
}

func openLog(file string) (*commandLog, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open redis log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open redis log: %w", err), f.Close())
	}
	return &commandLog{file: f, size: info.Size()}, nil
}

// append hands a record to the operating system, which keeps it when this process dies. After an error the file is as
// before, or the log takes no more records.
func (l *commandLog) append(r record) error {
	if l.bad != nil {
		return l.bad
	}
	raw := r.encode(nil)
	if len(raw)-headerLen > maxPayload {
		return errors.New("the command is too large for the redis log")
	}
	if _, err := l.file.Write(raw); err != nil {
		if cutErr := l.file.Truncate(l.size); cutErr != nil {
			l.bad = fmt.Errorf("redis log ends in half a record: %w", cutErr)
		}
		return fmt.Errorf("append to redis log: %w", err)
	}
	l.size += int64(len(raw))
	return nil
}

func (l *commandLog) sync() error { return l.file.Sync() }

func (l *commandLog) close() error { return l.file.Close() }
