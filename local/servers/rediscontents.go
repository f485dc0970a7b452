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

// contents holds the commands that recreate every key, and the first expiry.
type contents struct {
	entries []entry
	expires time.Time
}

// restoreFile returns the present contents of a journal file. A missing journal counts as empty.
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

// restore replays a journal and returns its contents at a time, but not before its last command.
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

// contents returns the contents at the server's time. No other goroutine may use the server.
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
			// Rounded up, because the finest expiry is a millisecond and 0 would mean no expiry.
			at := now.Add(ttl + time.Millisecond - 1).Truncate(time.Millisecond)
			add("PEXPIREAT", key, strconv.FormatInt(at.UnixMilli(), 10))
			if c.expires.IsZero() || at.Before(c.expires) {
				c.expires = at
			}
		}
	}
	return c, nil
}

// recreate returns the command that creates a key with its present value.
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
		return nil, fmt.Errorf("cannot store the type %q", kind)
	}
}
