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
	// importLease is the maximum time of one page of an import. If the process ends, other imports into the user's
	// bank wait for the lease.
	importLease  = 5 * time.Minute
	importPrefix = "mneme:import:"
)

// errImporting means that an import must wait for another import.
var errImporting = errors.New("another import into the user's memory is running: one import runs at a time")

// importClaims allows one replica at a time to import into a user's bank. An import first checks the bank and writes
// afterwards, so two imports could both find it empty.
type importClaims struct{ redis goredis.UniversalClient }

// freeScript removes the claim KEYS[1] if its token is still ARGV[1].
var freeScript = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

// claim reserves the imports into a user's bank until free is called or the lease ends. It returns errImporting if
// another import has the claim.
func (c importClaims) claim(ctx context.Context, scope memory.Scope) (free func() error, err error) {
	sum := sha256.Sum256([]byte(scope.Key())) // the key contains no user id
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
