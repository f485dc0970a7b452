package servers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"
)

// contents are the commands that recreate every key, and when the first of them expires.
type contents struct {
	entries []entry
	expires time.Time
}

// restoreFile is what a journal leads to by now. A missing journal is an empty one.
func restoreFile(path string) (contents, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return contents{}, nil
	}
	if err != nil {
		return contents{}, fmt.Errorf("read redis journal: %w", err)
	}
	defer file.Close()
	return restore(file, path, time.Now())
}

// restore replays a journal and returns what it leads to by a time, at the earliest that of its last command.
func restore(journal io.Reader, path string, by time.Time) (contents, error) {
	entries, err := readJournal(journal, path)
	if err != nil {
		return contents{}, err
	}
	r, err := newEmbeddedRedis(entries)
	if err != nil {
		return contents{}, err
	}
	defer r.mini.Close()
	r.setClock(laterOf(r.clock, by))
	return r.contents()
}

// contents are those at the server's time. The caller is the only one who knows the server.
func (r *embeddedRedis) contents() (contents, error) {
	now := r.clock
	var c contents
	add := func(words ...string) {
		e := entry{At: now}
		for _, word := range words {
			e.Command = append(e.Command, []byte(word))
		}
		c.entries = append(c.entries, e)
	}
	for _, key := range r.mini.Keys() {
		words, err := r.recreate(key)
		if err != nil {
			return contents{}, fmt.Errorf("read key of embedded redis: %w", err)
		}
		add(words...)
		if ttl := r.mini.TTL(key); ttl > 0 {
			// Rounded up, because a millisecond is the finest that can be set and none is not "soon".
			at := now.Add(ttl + time.Millisecond - 1).Truncate(time.Millisecond)
			add("PEXPIREAT", key, strconv.FormatInt(at.UnixMilli(), 10))
			if c.expires.IsZero() || at.Before(c.expires) {
				c.expires = at
			}
		}
	}
	return c, nil
}

// recreate is the command that makes a key with its present value.
func (r *embeddedRedis) recreate(key string) ([]string, error) {
	switch kind := r.mini.Type(key); kind {
	case "string":
		value, err := r.mini.Get(key)
		return []string{"SET", key, value}, err
	case "hash":
		fields, err := r.mini.HKeys(key)
		words := []string{"HSET", key}
		for _, field := range fields {
			words = append(words, field, r.mini.HGet(key, field))
		}
		return words, err
	case "list":
		items, err := r.mini.List(key)
		return append([]string{"RPUSH", key}, items...), err
	case "set":
		members, err := r.mini.Members(key)
		return append([]string{"SADD", key}, members...), err
	case "zset":
		scores, err := r.mini.SortedSet(key)
		words := []string{"ZADD", key}
		for _, member := range slices.Sorted(maps.Keys(scores)) {
			words = append(words, strconv.FormatFloat(scores[member], 'g', -1, 64), member)
		}
		return words, err
	default:
		return nil, fmt.Errorf("type %q cannot be kept", kind)
	}
}
