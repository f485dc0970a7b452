package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
)

// eachFile reads all files of a folder in the order of their names.
func eachFile[T any](files fs.FS, folder string, read func(batch string, data []byte) ([]T, error)) ([]T, error) {
	names, err := fs.Glob(files, folder+"/*.jsonl")
	if err != nil {
		return nil, err
	}
	var all []T
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		batch := strings.TrimSuffix(strings.TrimPrefix(name, folder+"/"), ".jsonl")
		some, err := read(batch, data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// eachLine reads a JSON object a line into fresh values, and checks each. It skips empty lines. A line that does not
// parse, or that check refuses, is an error of the given kind with its number.
func eachLine[T any](data []byte, kind error, fresh func() T, check func(T) error) ([]T, error) {
	var out []T
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		one := fresh()
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		err := d.Decode(&one)
		if err == nil {
			err = check(one)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", number, kind, err)
		}
		out = append(out, one)
	}
	return out, nil
}
