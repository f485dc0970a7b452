package servers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// snapshot returns one record a key that recreates it, expiry included. Nothing else uses the server meanwhile.
func snapshot(mini *miniredis.Miniredis, now time.Time) ([]record, error) {
	var records []record
	for _, key := range mini.Keys() {
		create, err := createCommand(mini, key)
		if err != nil {
			return nil, fmt.Errorf("read key of embedded redis: %w", err)
		}
		commands := [][]string{create}
		if ttl := mini.TTL(key); ttl > 0 {
			// Rounded up, because a millisecond is the finest that can be set and none is not "soon".
			at := now.Add(ttl + time.Millisecond - 1).UnixMilli()
			commands = append(commands, []string{"PEXPIREAT", key, strconv.FormatInt(at, 10)})
		}
		records = append(records, record{at: now, commands: commands})
	}
	return records, nil
}

// createCommand is the command that makes a key with its present value.
func createCommand(mini *miniredis.Miniredis, key string) ([]string, error) {
	switch kind := mini.Type(key); kind {
	case "string":
		value, err := mini.Get(key)
		return []string{"SET", key, value}, err
	case "hash":
		fields, err := mini.HKeys(key)
		command := []string{"HSET", key}
		for _, field := range fields {
			command = append(command, field, mini.HGet(key, field))
		}
		return command, err
	case "list":
		items, err := mini.List(key)
		return append([]string{"RPUSH", key}, items...), err
	case "set":
		members, err := mini.Members(key)
		return append([]string{"SADD", key}, members...), err
	case "zset":
		scores, err := mini.SortedSet(key)
		command := []string{"ZADD", key}
		for _, member := range slices.Sorted(maps.Keys(scores)) {
			command = append(command, strconv.FormatFloat(scores[member], 'g', -1, 64), member)
		}
		return command, err
	default:
		return nil, fmt.Errorf("type %q cannot be kept", kind)
	}
}
