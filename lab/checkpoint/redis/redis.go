// Package redis keeps checkpoints in Redis or Valkey, version 7.0 or later, alone or as a cluster: a hash a run, which
// expires as a whole. Bodies are compressed.
package redis

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/lab/checkpoint"
	"github.com/mneme-memory/mneme/shared/fault"
)

// DefaultPrefix begins the keys of a store.
const DefaultPrefix = "mneme:checkpoint:"

// Options configure a store.
type Options struct {
	// TTL is the lifetime of a run after its last Put.
	TTL time.Duration
	// Prefix begins every key; empty means DefaultPrefix.
	Prefix string
}

// Store is a checkpoint.Store in Redis. Errors of the connection or the server are retryable.
type Store struct {
	client goredis.UniversalClient
	o      Options
}

var _ checkpoint.Store = (*Store)(nil)

// New makes a store over a client. The caller closes the client. New sends nothing.
func New(client goredis.UniversalClient, o Options) (*Store, error) {
	if err := checkpoint.CheckTTL(o.TTL); err != nil {
		return nil, err
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	return &Store{client: client, o: o}, nil
}

// put writes and sets the time to live in one step. Otherwise a process that ends between the two would leave a run
// for ever.
var put = goredis.NewScript(`
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`)

// Put implements checkpoint.Store.
func (s *Store) Put(ctx context.Context, run, key string, body []byte) error {
	if err := checkpoint.CheckSize(body); err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return fmt.Errorf("compress a checkpoint: %w", err)
	}
	if _, err := z.Write(body); err != nil {
		return fmt.Errorf("compress a checkpoint: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("compress a checkpoint: %w", err)
	}
	if err := put.Run(ctx, s.client, []string{s.name(run)}, key, packed.Bytes(),
		s.o.TTL.Milliseconds()).Err(); err != nil {
		return fmt.Errorf("write a checkpoint: %w", err)
	}
	return nil
}

// Get implements checkpoint.Store.
func (s *Store) Get(ctx context.Context, run, key string) ([]byte, error) {
	packed, err := s.client.HGet(ctx, s.name(run), key).Bytes()
	if errors.Is(err, goredis.Nil) {
		return nil, checkpoint.ErrAbsent
	}
	if err != nil {
		return nil, fmt.Errorf("read a checkpoint: %w", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fault.Terminal(key, "is damaged in the store of checkpoints: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(z, checkpoint.MaxBytes+1))
	if err == nil {
		err = checkpoint.CheckSize(body)
	}
	if err != nil {
		return nil, fault.Terminal(key, "is damaged in the store of checkpoints: %w", err)
	}
	return body, nil
}

// Delete implements checkpoint.Store.
func (s *Store) Delete(ctx context.Context, run string, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	if err := s.client.HDel(ctx, s.name(run), keys...).Err(); err != nil {
		return fmt.Errorf("delete checkpoints: %w", err)
	}
	return nil
}

// DeleteRun implements checkpoint.Store.
func (s *Store) DeleteRun(ctx context.Context, run string) error {
	if err := s.client.Unlink(ctx, s.name(run)).Err(); err != nil {
		return fmt.Errorf("delete the checkpoints of a run: %w", err)
	}
	return nil
}

// name is the key of a run. It has no character with a meaning for a cluster.
func (s *Store) name(run string) string {
	sum := sha256.Sum256([]byte(run))
	return s.o.Prefix + hex.EncodeToString(sum[:])
}
