package utilizer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
)

const (
	// importLease is how long a page of an import may take: as long nobody else imports into the user's bank, should the process end.
	importLease  = 5 * time.Minute
	importPrefix = "mneme:import:"
)

// errImporting says that an import has to wait for another one.
var errImporting = errors.New("another import into the user's memory is at work: one alone can fill it")

// importClaims see to it that one replica alone imports into a user's bank: a bank is looked at first and written then, so that two could
// find it empty.
type importClaims struct{ redis goredis.UniversalClient }

// freeScript removes the claim KEYS[1] where it is still the token's, ARGV[1].
var freeScript = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

// claim takes the right to import into a user's bank until free is called or the lease is over, or returns errImporting.
func (c importClaims) claim(ctx context.Context, scope memory.Scope) (free func() error, err error) {
	sum := sha256.Sum256([]byte(scope.Key())) // no user id stands in the key space
	key, token := importPrefix+hex.EncodeToString(sum[:]), uuid.NewString()
	taken, err := c.redis.SetNX(ctx, key, token, importLease).Result()
	if err != nil {
		return nil, fmt.Errorf("claim the import: %w", err)
	}
	if !taken {
		return nil, errImporting
	}
	return func() error {
		if err := freeScript.Run(context.WithoutCancel(ctx), c.redis, []string{key}, token).Err(); err != nil {
			return fmt.Errorf("free the claim of the import: %w", err)
		}
		return nil
	}, nil
}
