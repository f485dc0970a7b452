package trainer

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// maxMessage bounds a request: an episode and completions of 10 MB each, with room for their JSON form.
const maxMessage = 48 << 20

// Config has the settings.
type Config struct {
	Key config.Secret `env:"MNEME_TRAINER_KEY" desc:"what callers show as \"Authorization: Bearer KEY\", 16 bytes or more; empty for none"`
}

// Validate checks the values.
func (c Config) Validate() error {
	return config.Require(c.Key == "" || len(c.Key) >= minKey, "MNEME_TRAINER_KEY", c.Key, "16 bytes or more")
}

const minKey = 16

// Service is the trainer.
var Service = runner.Define("trainer", "lets trainers of large models answer in made-up lives", build,
	runner.Default(runner.AddrVariable, "127.0.0.1:8420"), runner.Default("MNEME_HTTP_MAX_BODY", "48MiB"))

func build(_ context.Context, cfg Config, tel *telemetry.Telemetry) (*runner.App, error) {
	lives, err := NewLives()
	if err != nil {
		return nil, err
	}
	return &runner.App{Handler: cfg.require(Handler(lives, tel.Log))}, nil
}

// Handler serves both services.
func Handler(lives *Lives, log *slog.Logger) http.Handler {
	options := connect.WithHandlerOptions(
		connect.WithReadMaxBytes(maxMessage), connect.WithInterceptors(explained(log)),
		connect.WithCodec(codec{"json", protojson.Marshal, protojson.Unmarshal}),
		connect.WithCodec(codec{"json; charset=utf-8", protojson.Marshal, protojson.Unmarshal}),
		connect.WithCodec(codec{"proto", proto.MarshalOptions{Deterministic: true}.Marshal, proto.Unmarshal}))
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewEpisodeServiceHandler(Episodes{lives}, options))
	mux.Handle(mnemev1connect.NewRewardServiceHandler(Rewards{lives}, options))
	return mux
}

// codec is one of connect's codecs, made strict and deterministic. Connect's JSON ignores unknown fields. A misspelt
// field would then silently change the reward of rollouts.
type codec struct {
	name      string
	marshal   func(proto.Message) ([]byte, error)
	unmarshal func([]byte, proto.Message) error
}

// Name implements connect.Codec.
func (c codec) Name() string { return c.name }

// Marshal implements connect.Codec.
func (c codec) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", message)
	}
	return c.marshal(m)
}

// Unmarshal implements connect.Codec.
func (c codec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", message)
	}
	return c.unmarshal(data, m)
}

// explained adds the cause to callers' errors, as all services do.
func explained(log *slog.Logger) connect.Interceptor {
	return connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			res, err := next(ctx, req)
			return res, rpcerror.Logged(ctx, log, req.Spec().Procedure, err)
		}
	})
}

var errKey = errors.New("want `Authorization: Bearer KEY` with this service's key")

// require refuses callers without the key, if one is set, before it reads the body.
func (c Config) require(next http.Handler) http.Handler {
	if c.Key == "" {
		return next
	}
	errs := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if ok && subtle.ConstantTimeCompare([]byte(key), []byte(c.Key.Reveal())) == 1 {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		if r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close")
		}
		_ = errs.Write(w, r, connect.NewError(connect.CodeUnauthenticated, errKey)) // the caller has gone
	})
}
