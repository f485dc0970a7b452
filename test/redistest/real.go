//go:build realservers

package redistest

import "github.com/mneme-memory/mneme/local/servers"

func init() { kinds["redis-server"] = servers.StartRedisServer }
