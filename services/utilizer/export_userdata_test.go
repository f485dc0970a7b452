package utilizer

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/transfer"
	"github.com/mneme-memory/mneme/shared/tenant/rpcauth"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// UserData has the parts of the user data service, for tests.
type UserData struct {
	Out      bus.Publisher
	Erasures asker
	Busy     func(context.Context, memory.Scope) (bool, error)
	Redis    goredis.UniversalClient
	Log      *slog.Logger
	Auth     rpcauth.Authenticator
}

// UserDataHandler serves the user data service for tests, as build does.
func UserDataHandler(r *Recaller, d UserData) http.Handler {
	topics := func(context.Context) ([]wiring.TransportTopic, error) {
		return []wiring.TransportTopic{{Name: "texts", Texts: true, RetentionMs: 3_600_000}}, nil
	}
	_, handler := mnemev1connect.NewUserDataServiceHandler(&userDataServer{
		out: d.Out, erasures: d.Erasures, scanner: erasure.Scanner{Bank: r.Bank, Window: r.Window}, transport: topics,
		importer: transfer.Importer{Bank: r.Bank, Embedder: r.Embedder}, writes: d.Busy, claims: importClaims{d.Redis},
		indexes: r.Indexes, now: time.Now, log: d.Log,
	})
	return rpcauth.Require(d.Auth, rpcauth.Inside{}, handler, nil)
}
