// Package backend has the gateway's clients for the RPC services behind it, and the publisher for the bus. It is
// the one place that checks a caller's scopes and user, for every API. Every call and every event passes here.
package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/tenant/rpcauth"
)

// Services are the clients of the services behind the gateway. A call's context carries its caller
// (access.NewContext). A call without a caller is unauthenticated. A call without the scope, or for another user
// than the caller's, is permission denied.
type Services struct {
	Recall    mnemev1connect.UtilizerServiceClient
	Memories  mnemev1connect.MemoryServiceClient
	UserData  mnemev1connect.UserDataServiceClient
	Diagnosis mnemev1connect.DiagnosisServiceClient
	Reranker  mnemev1connect.RerankerServiceClient
}

// New makes the clients. The services behind the gateway authenticate it by the secret.
func New(
	client connect.HTTPClient, utilizer, reranker string, secret config.Secret, others ...connect.Interceptor,
) Services {
	utilizer, reranker = strings.TrimSuffix(utilizer, "/"), strings.TrimSuffix(reranker, "/")
	o := connect.WithInterceptors(append([]connect.Interceptor{authorize{}, rpcauth.Internal(secret)}, others...)...)
	return Services{
		Recall:    mnemev1connect.NewUtilizerServiceClient(client, utilizer, o),
		Memories:  mnemev1connect.NewMemoryServiceClient(client, utilizer, o),
		UserData:  mnemev1connect.NewUserDataServiceClient(client, utilizer, o),
		Diagnosis: mnemev1connect.NewDiagnosisServiceClient(client, utilizer, o),
		Reranker:  mnemev1connect.NewRerankerServiceClient(client, reranker, o),
	}
}

// Ask makes a call of a service, and returns the message of its answer.
func Ask[Q, A any](
	ctx context.Context, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), question *Q,
) (*A, error) {
	res, err := call(ctx, connect.NewRequest(question))
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
}

// scopes holds the required scope of each call. A call that is not listed is refused. A new call needs an entry
// first.
var scopes = map[string]access.Scope{
	mnemev1connect.UtilizerServiceRecallProcedure:          access.Recall,
	mnemev1connect.UtilizerServiceAnswerProcedure:          access.Recall,
	mnemev1connect.UtilizerServiceReportCitationsProcedure: access.Recall,
	mnemev1connect.DiagnosisServiceWhyProcedure:            access.Read,
	mnemev1connect.MemoryServiceListMemoriesProcedure:      access.Read,
	mnemev1connect.MemoryServiceGetMemoryProcedure:         access.Read,
	mnemev1connect.MemoryServiceGetMemoryHistoryProcedure:  access.Read,
	mnemev1connect.MemoryServiceGetWorkingMemoryProcedure:  access.Read,
	mnemev1connect.MemoryServiceGetSessionProcedure:        access.Read,
	mnemev1connect.MemoryServiceGetCoreProcedure:           access.Read,
	mnemev1connect.MemoryServiceGetTurnsProcedure:          access.Read,
	mnemev1connect.MemoryServiceCountMemoriesProcedure:     access.Admin,
	mnemev1connect.MemoryServiceAddMemoryProcedure:         access.Ingest,
	mnemev1connect.MemoryServiceUpdateMemoryProcedure:      access.Erase,
	mnemev1connect.MemoryServiceDeleteMemoryProcedure:      access.Erase,
	mnemev1connect.MemoryServiceReleaseMemoryProcedure:     access.Erase,
	mnemev1connect.UserDataServiceEraseUserProcedure:       access.Erase,
	mnemev1connect.UserDataServiceGetErasureProcedure:      access.Erase,
	mnemev1connect.UserDataServiceListErasuresProcedure:    access.Erase,
	mnemev1connect.UserDataServiceScanUserProcedure:        access.Erase,
	mnemev1connect.UserDataServiceExportUserProcedure:      access.Erase,
	mnemev1connect.UserDataServiceImportUserProcedure:      access.Erase,
	mnemev1connect.RerankerServiceListWeightsProcedure:     access.Admin,
	mnemev1connect.RerankerServiceRollbackWeightsProcedure: access.Admin,
}

// ScopeOf returns the required scope of a call. ok is false for a call without an entry.
func ScopeOf(procedure string) (s access.Scope, ok bool) {
	s, ok = scopes[procedure]
	return s, ok
}

// Scopes returns the required scope of each call, by its procedure.
func Scopes() map[string][]access.Scope {
	out := map[string][]access.Scope{}
	for procedure, s := range scopes {
		out[procedure] = []access.Scope{s}
	}
	return out
}

// userOf returns the user of a request. It is empty if the request is about the tenant.
func userOf(msg any) string {
	switch m := msg.(type) {
	case interface{ GetUserId() string }:
		return m.GetUserId()
	case interface{ GetRecall() *mnemev1.RecallRequest }:
		return m.GetRecall().GetUserId()
	}
	return ""
}

// Check returns nil if the caller of ctx may make calls of a scope for a user. An empty user means the whole
// tenant. Otherwise it returns a connect error, unauthenticated or permission denied.
func Check(ctx context.Context, s access.Scope, user string) error {
	p, ok := access.FromContext(ctx)
	if !ok {
		return connect.NewError(connect.CodeUnauthenticated, errors.New("the call carries no API key"))
	}
	if err := p.Allow(s, user); err != nil {
		return connect.NewError(connect.CodePermissionDenied, err)
	}
	return nil
}

// authorize is the interceptor that holds every call against its caller.
type authorize struct{}

func (authorize) check(ctx context.Context, procedure string, msg any) error {
	s, ok := ScopeOf(procedure)
	if !ok {
		return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("the gateway does not offer %s", procedure))
	}
	return Check(ctx, s, userOf(msg))
}

// WrapUnary implements connect.Interceptor.
func (a authorize) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if err := a.check(ctx, req.Spec().Procedure, req.Any()); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

// WrapStreamingClient implements connect.Interceptor: a stream is checked when its request is sent.
func (a authorize) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		return &checkedStream{StreamingClientConn: next(ctx, spec), check: func(msg any) error {
			return a.check(ctx, spec.Procedure, msg)
		}}
	}
}

// WrapStreamingHandler implements connect.Interceptor; this is a client's.
func (authorize) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

type checkedStream struct {
	connect.StreamingClientConn
	check func(msg any) error
}

// Send implements connect.StreamingClientConn.
func (s *checkedStream) Send(msg any) error {
	if err := s.check(msg); err != nil {
		return err
	}
	return s.StreamingClientConn.Send(msg)
}

// Client is an HTTP client for the services behind the gateway; Close frees its connections.
func Client() (*http.Client, func() error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy, t.MaxIdleConnsPerHost, t.MaxIdleConns = nil, 256, 512
	return &http.Client{Transport: t}, func() error { t.CloseIdleConnections(); return nil }
}

// ErasureNotes stores the accepted erasures. A note separates a running erasure from an unknown one.
// *idempotency.Store implements it.
type ErasureNotes interface {
	// NoteErasure notes that an erasure of a user was accepted.
	NoteErasure(ctx context.Context, scope memory.Scope, id string) error
}

// Noting returns the services with an erasure that is noted as accepted, from every API. If the note fails, the
// caller must repeat the request.
func (s Services) Noting(notes ErasureNotes) Services {
	s.UserData = noting{s.UserData, notes}
	return s
}

type noting struct {
	mnemev1connect.UserDataServiceClient
	notes ErasureNotes
}

// EraseUser implements the RPC.
func (n noting) EraseUser(
	ctx context.Context, req *connect.Request[mnemev1.EraseUserRequest],
) (*connect.Response[mnemev1.EraseUserResponse], error) {
	res, err := n.UserDataServiceClient.EraseUser(ctx, req)
	if err != nil {
		return nil, err
	}
	p, _ := access.FromContext(ctx) // the call was let through
	scope := memory.Scope{Tenant: p.Tenant.ID, User: req.Msg.GetUserId()}
	if err := n.notes.NoteErasure(ctx, scope, res.Msg.GetErasureId()); err != nil {
		return nil, connect.NewError(connect.CodeUnavailable,
			errors.New("the erasure is accepted, but its id was not stored: request the erasure again"))
	}
	return res, nil
}
