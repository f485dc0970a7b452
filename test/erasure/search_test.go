package erasure_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/decisions"
	"github.com/mneme-memory/mneme/shared/store/idempotency"
	"github.com/mneme-memory/mneme/shared/store/items"
	"github.com/mneme-memory/mneme/shared/store/mem0state"
	"github.com/mneme-memory/mneme/shared/store/records"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
	weights "github.com/mneme-memory/mneme/shared/store/weights/redis"
	window "github.com/mneme-memory/mneme/shared/store/window/redis"
	"github.com/mneme-memory/mneme/test/harness"
)

// found lists the places of a search's finds, by store and place.
type found []string

func (f *found) add(store, place string) {
	if at := store + ": " + place; !slices.Contains(*f, at) {
		*f = append(*f, at)
	}
}

// in returns the finds in one store.
func (f found) in(store string) found {
	return slices.DeleteFunc(slices.Clone(f), func(at string) bool { return !strings.HasPrefix(at, store+": ") })
}

// marks are the texts that name a user: the user's turns, the id, and the hashes by which stores name the user's keys.
func marks(p person) (words, ids [][]byte) {
	hash := func(sum []byte) []byte { return []byte(base64.RawURLEncoding.EncodeToString(sum)) }
	sum := sha256.Sum256([]byte(p.user))
	key := sha256.Sum256([]byte(memory.Scope{Tenant: standalone.LocalTenant, User: p.user}.Key()))
	return [][]byte{[]byte(p.word)}, [][]byte{
		[]byte(p.user),
		hash(sum[:15]),                       // recorded calls; the other stores name keys by a longer part of the same hash
		hash(redisstore.Digest(p.user)[:15]), // decisions of the filter
		hash(redisstore.Digest(standalone.LocalTenant, p.user)), // answers and notes of requests
		[]byte(hex.EncodeToString(key[:])),                      // traces and reports of recalls
	}
}

// redisPrefixes begin the keys of the stores in Redis that keep something of a user.
func redisPrefixes() []string {
	return []string{
		window.DefaultPrefix, weights.DefaultPrefix, items.DefaultPrefix, idempotency.DefaultPrefix, mem0state.DefaultPrefix,
		decisions.DefaultPrefix, records.DefaultPrefix, webhooks.DefaultPrefix,
	}
}

// awaitFound waits until the search finds the user's id or a hash of it in every store in Redis: else it proves nothing
// of that store.
func (s *system) awaitFound(t *testing.T, p person) {
	t.Helper()
	_, ids := marks(p)
	var missing []string
	defer func() {
		if len(missing) > 0 {
			t.Logf("before the erasure the search finds nothing of %s below %q", p.user, missing)
		}
	}()
	await(t, "the search finds "+p.user+" in every store in Redis", func(context.Context) bool {
		var out found
		s.searchRedis(t, ids, &out)
		missing = slices.DeleteFunc(redisPrefixes(), func(prefix string) bool {
			return slices.ContainsFunc(out, func(at string) bool { return strings.HasPrefix(at, "redis: "+prefix) })
		})
		return len(missing) == 0
	})
}

func holdsAny(data []byte, of [][]byte) bool {
	return slices.ContainsFunc(of, func(mark []byte) bool { return bytes.Contains(data, mark) })
}

// named reports whether docs/operations/erasure.md lists a place that contains a user's id for a limited time. These
// places contain no words.
func named(at string) bool {
	return strings.HasPrefix(at, "histories: erasure/") || // the erasure itself
		strings.HasPrefix(at, "redis: ") && strings.Contains(at, ":erased:") || // which erasures were carried out
		// which were accepted
		strings.HasPrefix(at, "redis: "+idempotency.DefaultPrefix) && strings.Contains(at, ":erasures:") ||
		// when the last was carried out
		strings.HasPrefix(at, "redis: "+records.DefaultPrefix) && strings.HasSuffix(at, ":erased") ||
		strings.HasPrefix(at, "redis: ") && strings.HasSuffix(at, announcement) // that the user was erased
}

// announcement marks webhook deliveries about an erasure.
const announcement = " (user.erased)"

// search searches Redis, the bank, the dead letters and the histories of workflows.
func (s *system) search(t *testing.T, of [][]byte) found {
	t.Helper()
	var out found
	s.searchRedis(t, of, &out)
	s.searchBank(t, of, &out)
	for _, m := range harness.RecordsAt(t, s.at.Brokers[0], contract.TopicDeadLetters) {
		if holdsAny(m.Key, of) || holdsAny(m.Value, of) {
			out.add("dead letters", fmt.Sprint(m.Partition, "/", m.Offset))
		}
	}
	for _, id := range harness.HistoriesAt(t, s.stack.Settings()["MNEME_TEMPORAL_ADDR"], of...) {
		out.add("histories", id)
	}
	return out
}

// searchRedis reads every key with its value.
func (s *system) searchRedis(t *testing.T, of [][]byte, out *found) {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: s.at.Redis[0]})
	defer client.Close()
	ctx := t.Context()
	keys := client.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		key := keys.Val()
		values, err := valuesOf(ctx, client, key)
		if err != nil {
			t.Fatalf("read the key %s: %v", key, err)
		}
		if holdsAny([]byte(key), of) {
			out.add("redis", key)
		}
		for _, value := range values {
			switch {
			case !holdsAny([]byte(value), of):
			case strings.Contains(value, `"user.erased"`):
				out.add("redis", key+announcement)
			default:
				out.add("redis", key)
			}
		}
	}
	if err := keys.Err(); err != nil {
		t.Fatal(err)
	}
}

// valuesOf returns every text in a key.
func valuesOf(ctx context.Context, client *goredis.Client, key string) ([]string, error) {
	kind, err := client.Type(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	switch kind {
	case "string":
		value, err := client.Get(ctx, key).Result()
		if errors.Is(err, goredis.Nil) { // it has expired meanwhile
			return nil, nil
		}
		return []string{value}, err
	case "hash":
		fields, err := client.HGetAll(ctx, key).Result()
		out := make([]string, 0, len(fields))
		for name, value := range fields {
			out = append(out, name+" "+value)
		}
		return out, err
	case "list":
		return client.LRange(ctx, key, 0, -1).Result()
	case "set":
		return client.SMembers(ctx, key).Result()
	case "zset":
		return client.ZRange(ctx, key, 0, -1).Result()
	case "none": // it has expired meanwhile
		return nil, nil
	}
	return nil, fmt.Errorf("type %s is not known to this test", kind)
}

// searchBank reads every object of every class and tenant of Weaviate.
func (s *system) searchBank(t *testing.T, of [][]byte, out *found) {
	t.Helper()
	var schema struct {
		Classes []struct {
			Class              string
			MultiTenancyConfig struct{ Enabled bool }
		}
	}
	s.readBank(t, "/v1/schema", &schema)
	for _, c := range schema.Classes {
		if !c.MultiTenancyConfig.Enabled {
			continue
		}
		var page struct{ Objects []json.RawMessage }
		after := ""
		for {
			page.Objects = nil
			s.readBank(t, "/v1/objects?limit=200&class="+c.Class+"&tenant="+s.at.Tenant+after, &page)
			for _, object := range page.Objects {
				if holdsAny(object, of) {
					out.add("bank", c.Class)
				}
			}
			if len(page.Objects) == 0 {
				break
			}
			var last struct{ ID string }
			if err := json.Unmarshal(page.Objects[len(page.Objects)-1], &last); err != nil {
				t.Fatal(err)
			}
			after = "&after=" + last.ID
		}
	}
}

func (s *system) readBank(t *testing.T, path string, to any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://"+s.stack.Settings()["MNEME_WEAVIATE_HTTP"]+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, to)
	}
	if err != nil || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusUnprocessableEntity {
		t.Fatalf("%s: status %d, %v", path, res.StatusCode, err)
	}
}

// files returns the files of the data folder that contain a mark, with paths relative to the folder.
func files(t *testing.T, dir string, of [][]byte) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // the file was being renamed
			return nil
		}
		if err != nil {
			return err
		}
		encoded := make([][]byte, 0, len(of))
		for _, mark := range of {
			encoded = append(encoded, mark)
			for shift := range 3 {
				encoded = append(encoded, inBase64(mark, shift))
			}
		}
		if holdsAny(data, encoded) {
			relative, err := filepath.Rel(dir, path)
			out = append(out, relative)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// inBase64 returns the part of a text's base64 form that does not depend on neighbouring bytes. shift bytes precede
// the text.
func inBase64(mark []byte, shift int) []byte {
	padded := append(make([]byte, shift), mark...)
	encoded := base64.StdEncoding.EncodeToString(padded)
	from, to := (shift*8+5)/6, len(padded)*8/6
	return []byte(encoded[from:to])
}
