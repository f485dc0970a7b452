// Package rpc serves the RPC contracts. It passes calls of the contracts in proto/ on to the
// services behind. Callers use gRPC, gRPC-Web or connect, as the command line and Go clients do.
package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
)

// Prefixes are the paths of New's handler.
func Prefixes() []string {
	return []string{
		"/" + mnemev1connect.UtilizerServiceName + "/", "/" + mnemev1connect.MemoryServiceName + "/",
		"/" + mnemev1connect.UserDataServiceName + "/", "/" + mnemev1connect.DiagnosisServiceName + "/",
		"/" + mnemev1connect.RerankerServiceName + "/",
	}
}

// ordered hides fields that only services use from callers: orders of candidates.
type ordered struct {
	mnemev1connect.UnimplementedRerankerServiceHandler
	next mnemev1connect.RerankerServiceClient
}

// New returns the handler. It belongs behind guard.Guard, which refuses compressed requests. Each request is one
// message. The handler reads the body before the call, so it refuses a large or late body as the other APIs do.
func New(services backend.Services) http.Handler {
	o := connect.WithHandlerOptions(
		connect.WithInterceptors(connect.UnaryInterceptorFunc(bare)),
		connect.WithCodec(jsonCodec{"json"}), connect.WithCodec(jsonCodec{"json; charset=utf-8"}), // as Connect names its own
	)
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(services.Recall, o))
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(services.Memories, o))
	mux.Handle(mnemev1connect.NewUserDataServiceHandler(userData{services.UserData}, o))
	mux.Handle(mnemev1connect.NewDiagnosisServiceHandler(services.Diagnosis, o))
	mux.Handle(mnemev1connect.NewRerankerServiceHandler(&ordered{next: services.Reranker}, o))
	procedures := map[string]bool{}
	for services, i := mnemev1.File_mneme_v1_services_proto.Services(), 0; i < services.Len(); i++ {
		for of, j := services.Get(i), 0; j < of.Methods().Len(); j++ {
			procedures["/"+string(of.FullName())+"/"+string(of.Methods().Get(j).Name())] = true
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !procedures[r.URL.Path] { // the generated handlers say so in plain text
			WriteProblem(w, r, problem.Unsupported("there is no such procedure"))
			return
		}
		body, err := problem.ReadAll(r)
		if with := r.URL.Query().Get("compression"); err == nil && r.Method == http.MethodGet && with != "" &&
			with != "identity" {
			err = problem.Problem{ // Connect's calls by GET carry their message in the URL
				Status: http.StatusUnsupportedMediaType, Code: problem.CodeMediaType, Field: "compression",
				Detail: "is not supported",
			}
		}
		if err != nil {
			WriteProblem(w, r, problem.From(err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		mux.ServeHTTP(w, r)
	})
}

// bare passes on a request's message without its headers, which contain the caller's key. It passes on an error
// without the service's headers, except the reason.
func bare(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		clear(req.Header())
		res, err := next(ctx, req)
		if err != nil {
			return nil, plain(err)
		}
		clear(res.Header())
		clear(res.Trailer())
		return res, nil
	}
}

func plain(err error) error {
	var p problem.Problem // of a limit for the calls of every API
	if errors.As(err, &p) {
		return connect.NewError(codes[p.Status], p)
	}
	var known *connect.Error
	if !errors.As(err, &known) {
		return connect.NewError(connect.CodeInternal, errors.New("an internal error"))
	}
	return rpcerror.Because(known.Code(), rpcerror.Reason(known), errors.New(known.Message()))
}

// ListWeights implements the RPC.
func (s *ordered) ListWeights(
	ctx context.Context, req *connect.Request[mnemev1.ListWeightsRequest],
) (*connect.Response[mnemev1.ListWeightsResponse], error) {
	return s.next.ListWeights(ctx, req)
}

// RollbackWeights implements the RPC.
func (s *ordered) RollbackWeights(
	ctx context.Context, req *connect.Request[mnemev1.RollbackWeightsRequest],
) (*connect.Response[mnemev1.RollbackWeightsResponse], error) {
	return s.next.RollbackWeights(ctx, req)
}

// userData passes the stream of an export on; all other calls are the client's own.
type userData struct {
	mnemev1connect.UserDataServiceClient
}

// ExportUser implements the RPC.
func (s userData) ExportUser(
	ctx context.Context, req *connect.Request[mnemev1.ExportUserRequest],
	out *connect.ServerStream[mnemev1.ExportUserResponse],
) error {
	in, err := s.UserDataServiceClient.ExportUser(ctx, connect.NewRequest(req.Msg))
	if err != nil {
		return plain(err)
	}
	for in.Receive() {
		if err := out.Send(in.Msg()); err != nil {
			return errors.Join(err, in.Close())
		}
	}
	if err := in.Err(); err != nil {
		return errors.Join(plain(err), in.Close())
	}
	return in.Close()
}

// WriteProblem answers in the protocol of the caller.
func WriteProblem(w http.ResponseWriter, r *http.Request, p problem.Problem) {
	p.SetHeaders(w.Header())
	if p.Status == http.StatusUnsupportedMediaType {
		w.Header().Set("Accept-Encoding", "identity") // of Connect
		w.Header().Set("Grpc-Accept-Encoding", "identity")
	}
	_ = connect.NewErrorWriter().Write(w, r, connect.NewError(codes[p.Status], p)) // the caller has gone
}

// codes maps the status of a problem to the code for RPC clients. A message that is too large is an invalid
// argument, because clients repeat calls after resource exhausted.
var codes = map[int]connect.Code{
	http.StatusBadRequest: connect.CodeInvalidArgument, http.StatusUnauthorized: connect.CodeUnauthenticated,
	http.StatusForbidden: connect.CodePermissionDenied, http.StatusNotFound: connect.CodeNotFound,
	http.StatusConflict: connect.CodeFailedPrecondition, http.StatusRequestEntityTooLarge: connect.CodeInvalidArgument,
	http.StatusRequestTimeout: connect.CodeDeadlineExceeded, http.StatusUnsupportedMediaType: connect.CodeUnimplemented,
	http.StatusTooManyRequests: connect.CodeResourceExhausted, http.StatusNotImplemented: connect.CodeUnimplemented,
	http.StatusInternalServerError: connect.CodeInternal, http.StatusServiceUnavailable: connect.CodeUnavailable,
}

// jsonCodec is Connect's JSON codec. It also refuses a value that protojson changes silently: a number that a
// double cannot hold exactly.
type jsonCodec struct{ name string }

// Name implements connect.Codec.
func (c jsonCodec) Name() string { return c.name }

// Marshal implements connect.Codec.
func (jsonCodec) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protobuf message", message)
	}
	return protojson.Marshal(m)
}

// Unmarshal implements connect.Codec. It skips unknown fields, which newer clients may send.
func (jsonCodec) Unmarshal(text []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a protobuf message", message)
	}
	if _, err := memory.ParseJSON("", text); err != nil {
		return err
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, m)
}
