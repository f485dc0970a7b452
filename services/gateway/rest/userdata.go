package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/idempotency"
)

// maxImport bounds the lines of an import, in bytes. A message of problem.MaxBody also needs room for the import's
// names.
const maxImport = problem.MaxBody - 4<<10

// firstLine is the number of the first line of an export that follows its header.
const firstLine = 2

type eraseUser struct {
	User userID    `path:"user"`
	Key  keyHeader `header:"Idempotency-Key"`
}

type erasureAcceptedBody struct {
	ErasureID string `json:"erasure_id"`
	StatusURL string `json:"status_url" doc:"URL of the progress."`
}

type getErasure struct {
	User    userID `path:"user"`
	Erasure textID `path:"erasure" doc:"The erasure."`
}

type erasureStateBody struct {
	State  string     `json:"state" enum:"pending,running,done" doc:"pending: waits for the processing of earlier turns. running: erases and scans the stores. done: a scan found no data from before the request."`
	DoneAt *time.Time `json:"done_at,omitempty"`
	Rounds uint32     `json:"rounds" doc:"Number of rounds of erasing and scanning, up to now or in total."`

	StartedAt *time.Time       `json:"started_at,omitempty" doc:"Time at which a running erasure had emptied the memory."`
	Remaining []StoreRemainder `json:"remaining,omitempty" nullable:"false" doc:"The stores with data in the last scan of a running erasure."`
}

// StoreRemainder is a store's remaining data of a user during an erasure.
type StoreRemainder struct {
	Store string     `json:"store"`
	Count uint64     `json:"count" doc:"Number of objects; at least 1 if the store failed."`
	Since *time.Time `json:"since,omitempty" doc:"Time since which scans have found data in the store."`
	Error string     `json:"error,omitempty" doc:"Class of the last error of a failed store, for example unavailable."`
}

type scannedBody struct {
	Counts    []StoreCount `json:"counts" nullable:"false" doc:"All stores, including the empty ones."`
	Transport []Transport  `json:"transport" nullable:"false" doc:"Topics that may keep records of the user for a while. No service reads these records again."`
}

// StoreCount is how much a store keeps of a user.
type StoreCount struct {
	Store string `json:"store"`
	Count uint64 `json:"count"`
}

// Transport is a topic that carries the words of users, or actions on them.
type Transport struct {
	Topic       string `json:"topic"`
	Texts       bool   `json:"texts" doc:"Whether the topic has texts of users."`
	RetentionMs int64  `json:"retention_ms" doc:"Retention in milliseconds; -1 without a limit, 0 if it is unknown."`
}

type importUser struct {
	User    userID `path:"user"`
	Cursor  cursor `query:"cursor" doc:"The next_cursor of the page before. Default: the first page."`
	RawBody []byte `contentType:"application/x-ndjson"`
}

type importedBody struct {
	SoFar        BankCounts `json:"so_far" doc:"The current content of the bank."`
	EmbeddedAnew bool       `json:"embedded_anew" doc:"Whether the import computed new vectors, because the export has another embedding model."`
	Next         string     `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent after the last page, if all entries of the header's counts are imported."`
}

// BankCounts says how much a bank holds.
type BankCounts struct {
	Memories uint64 `json:"memories"`
	Turns    uint64 `json:"turns"`
	Sessions uint64 `json:"sessions"`
	Core     uint64 `json:"core"`
}

// importPlace is where an import goes on.
type importPlace struct {
	Line  uint64     `json:"line"`
	SoFar BankCounts `json:"so_far"`
}

type exported struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	Body        func(huma.Context)
}

func (a *API) userData() {
	const user = "/users/{user}"
	register(a, operation{
		id: "export-user", route: "GET " + user + "/export", tag: tagUsers, scope: access.Erase,
		errors: []int{http.StatusConflict}, lines: true, summary: "Export a user",
		description: "Returns a user's memory as JSON lines: a header, then memories with versions and vectors, turns, " +
			"session records and the core block. If the connection ends before the last line, the export has failed.",
	}, a.exportUser)
	register(a, operation{
		id: "import-user", route: "POST " + user + "/import", tag: tagUsers, scope: access.Erase,
		errors: []int{http.StatusConflict}, summary: "Import a user",
		description: "Writes an export into an empty memory. Send an export of more than 8 MiB in pages, one after the " +
			"other. Each page has the export's first line, and then whole lines that continue the previous page. Each " +
			"page after the first sends `next_cursor` of the previous answer as `cursor`. The last answer has no " +
			"`next_cursor`. Write nothing else meanwhile. The call refuses a repeated page as a conflict.",
	}, a.importUser)
	register(a, operation{
		id: "erase-user", route: "DELETE " + user, tag: tagUsers, scope: access.Erase, status: http.StatusAccepted,
		errors: []int{http.StatusConflict}, summary: "Erase a user",
		description: "Erases all data of a user from before the request. Later turns form new memories. A repeated " +
			"Idempotency-Key names the same erasure.",
	}, a.eraseUser)
	register(a, operation{
		id: "get-erasure", route: "GET " + user + "/erasures/{erasure}", tag: tagUsers, scope: access.Erase,
		errors: []int{http.StatusNotFound, http.StatusConflict}, summary: "Get the progress of an erasure",
		description: "Returns the progress of an erasure. The answer is 404 for an unknown erasure, and for one that " +
			"ended long ago.",
	}, a.getErasure)
	register(a, operation{
		id: "scan-user", route: "GET " + user + "/scan", tag: tagUsers, scope: access.Erase,
		summary:     "Count the data of a user",
		description: "Counts the objects of a user in every store that an erasure covers.",
	}, a.scanUser)
}

func (a *API) exportUser(ctx context.Context, in *userRequest) (*exported, error) {
	stream, err := a.Services.UserData.ExportUser(ctx,
		connect.NewRequest(&mnemev1.ExportUserRequest{UserId: string(in.User)}))
	if err != nil {
		return nil, err
	}
	if !stream.Receive() { // an error before the first line becomes a problem
		if err := errors.Join(stream.Err(), stream.Close()); err != nil {
			return nil, err
		}
		return nil, errors.New("an export without a line")
	}
	return &exported{linesType, func(c huma.Context) {
		_, w := humago.Unwrap(c)
		w.WriteHeader(http.StatusOK)
		a.copyLines(ctx, w, stream)
	}}, nil
}

// copyLines writes the lines of a stream. On failure it breaks the connection, so the client does not take the
// lines as complete.
func (a *API) copyLines(
	ctx context.Context, w http.ResponseWriter, stream *connect.ServerStreamForClient[mnemev1.ExportUserResponse],
) {
	control := http.NewResponseController(w)
	for more := true; more; more = stream.Receive() {
		_, _ = w.Write(stream.Msg().GetData()) // a client that has gone ends ctx
		if err := control.Flush(); err != nil {
			break
		}
	}
	if err := errors.Join(stream.Err(), stream.Close()); err != nil {
		a.Log.ErrorContext(ctx, "REST", "operation", "export-user", "error", err)
		panic(http.ErrAbortHandler)
	}
}

func (a *API) importUser(ctx context.Context, in *importUser) (*answer[importedBody], error) {
	place := importPlace{Line: firstLine}
	pages := listOf(ctx, "import", string(in.User))
	if in.Cursor != "" {
		text, err := pages.place(in.Cursor)
		if err == nil {
			err = json.Unmarshal(text, &place)
		}
		if err != nil {
			return nil, invalid(inQuery, "cursor", "is not a cursor of an import")
		}
	}
	if len(in.RawBody) > maxImport {
		return nil, problem.Problem{Status: http.StatusRequestEntityTooLarge, Code: problem.CodeTooLarge,
			Detail: "the page is too large: split it"}
	}
	if !utf8.Valid(in.RawBody) {
		return nil, invalid(inBody, inBody, "is not valid UTF-8")
	}
	header, lines, _ := bytes.Cut(in.RawBody, []byte("\n"))
	req := &mnemev1.ImportUserRequest{UserId: string(in.User), Header: string(header), Lines: lines, FirstLine: place.Line}
	if in.Cursor != "" {
		c := place.SoFar
		req.SoFar = &mnemev1.BankCounts{Memories: c.Memories, Turns: c.Turns, Sessions: c.Sessions, Core: c.Core}
	}
	res, err := backend.Ask(ctx, a.Services.UserData.ImportUser, req)
	if err != nil {
		return nil, err
	}
	c := res.GetSoFar()
	out := &answer[importedBody]{importedBody{
		SoFar:        BankCounts{c.GetMemories(), c.GetTurns(), c.GetSessions(), c.GetCore()},
		EmbeddedAnew: res.GetEmbeddedAnew(),
	}}
	if res.GetComplete() {
		return out, nil
	}
	next, err := json.Marshal(importPlace{place.Line + uint64(countLines(lines)),
		out.Body.SoFar}) //nolint:gosec // not negative
	out.Body.Next = pages.cursor(next)
	return out, err
}

// countLines counts lines. The last line may lack its end.
func countLines(lines []byte) int {
	n := bytes.Count(lines, []byte("\n"))
	if len(lines) > 0 && !bytes.HasSuffix(lines, []byte("\n")) {
		n++
	}
	return n
}

func (a *API) eraseUser(ctx context.Context, in *eraseUser) (*answer[erasureAcceptedBody], error) {
	user := string(in.User)
	req := &mnemev1.EraseUserRequest{UserId: user}
	if in.Key != "" {
		req.RequestId = deriveID(in.Key, "erasure of "+user, 0)
	}
	return ask(ctx, a.Services.UserData.EraseUser, req, func(res *mnemev1.EraseUserResponse) erasureAcceptedBody {
		return erasureAcceptedBody{res.GetErasureId(), pathOf("users", user, "erasures", res.GetErasureId())}
	})
}

func (a *API) getErasure(ctx context.Context, in *getErasure) (*answer[erasureStateBody], error) {
	out, err := ask(ctx, a.Services.UserData.GetErasure,
		&mnemev1.GetErasureRequest{UserId: string(in.User), ErasureId: string(in.Erasure)}, erasureStateOf)
	if err == nil && out.Body.State == "pending" {
		err = a.wasAccepted(ctx, string(in.User), idempotency.Erasure, string(in.Erasure))
	}
	return out, err
}

func erasureStateOf(e *mnemev1.GetErasureResponse) erasureStateBody {
	return erasureStateBody{
		State: word(e.GetState(), "ERASURE_STATE_"), DoneAt: timeOf(e.GetDoneAt()), Rounds: e.GetRounds(),
		StartedAt: timeOf(e.GetStartedAt()),
		Remaining: each(e.GetRemaining(), func(r *mnemev1.StoreRemainder) StoreRemainder {
			return StoreRemainder{r.GetStore(), r.GetCount(), timeOf(r.GetSince()), r.GetError()}
		}),
	}
}

func (a *API) scanUser(ctx context.Context, in *userRequest) (*answer[scannedBody], error) {
	return ask(ctx, a.Services.UserData.ScanUser, &mnemev1.ScanUserRequest{UserId: string(in.User)}, scannedOf)
}

func scannedOf(s *mnemev1.ScanUserResponse) scannedBody {
	return scannedBody{
		Counts: each(s.GetCounts(), func(c *mnemev1.StoreCount) StoreCount {
			return StoreCount{c.GetStore(), c.GetCount()}
		}),
		Transport: each(s.GetTransport(), func(t *mnemev1.TransportTopic) Transport {
			return Transport{t.GetTopic(), t.GetTexts(), t.GetRetentionMs()}
		}),
	}
}
