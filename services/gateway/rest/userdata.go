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

type erasureAccepted struct {
	Body struct {
		ErasureID string `json:"erasure_id"`
		StatusURL string `json:"status_url" doc:"Where to ask how far it is."`
	}
}

type getErasure struct {
	User    userID `path:"user"`
	Erasure textID `path:"erasure" doc:"The erasure."`
}

type erasureState struct {
	Body struct {
		State  string     `json:"state" enum:"pending,running,done" doc:"pending: it waits for what the user said before. running: stores are being erased and scanned. done: a scan found nothing that came before the request."`
		DoneAt *time.Time `json:"done_at,omitempty"`
		Rounds uint32     `json:"rounds" doc:"How often the stores have been erased and scanned: so far while it runs, in all when it is done."`

		StartedAt *time.Time       `json:"started_at,omitempty" doc:"When a running erasure had emptied the memory."`
		Remaining []StoreRemainder `json:"remaining,omitempty" nullable:"false" doc:"The stores that the last scan of a running erasure found something in."`
	}
}

// StoreRemainder is a store's remaining data of a user during an erasure.
type StoreRemainder struct {
	Store string     `json:"store"`
	Count uint64     `json:"count" doc:"How many objects; at least 1 where the store could not be erased or counted."`
	Since *time.Time `json:"since,omitempty" doc:"Since when scans have found something in the store."`
	Error string     `json:"error,omitempty" doc:"Class of the last error of a store that could not be erased or counted: unavailable, for example."`
}

type scanned struct {
	Body struct {
		Counts    []StoreCount `json:"counts" nullable:"false" doc:"Every store, those with nothing included."`
		Transport []Transport  `json:"transport" nullable:"false" doc:"Where records of the user may remain for a while, although no service reads them again."`
	}
}

// StoreCount is how much a store keeps of a user.
type StoreCount struct {
	Store string `json:"store"`
	Count uint64 `json:"count"`
}

// Transport is a topic that carries the words of users, or actions on them.
type Transport struct {
	Topic       string `json:"topic"`
	Texts       bool   `json:"texts" doc:"Whether it holds texts of users."`
	RetentionMs int64  `json:"retention_ms" doc:"How long it keeps records; -1 for ever, 0 where that is not known."`
}

type importUser struct {
	User    userID `path:"user"`
	Cursor  cursor `query:"cursor" doc:"next_cursor of the page before; without it the first page."`
	RawBody []byte `contentType:"application/x-ndjson"`
}

type imported struct {
	Body struct {
		SoFar        BankCounts `json:"so_far" doc:"What the bank holds now."`
		EmbeddedAnew bool       `json:"embedded_anew" doc:"Whether vectors were made anew, because the export comes from another embedding model."`
		Next         string     `json:"next_cursor,omitempty" doc:"For the next page; absent after the last, when all that the header counts is there."`
	}
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
		id: "export-user", method: http.MethodGet, path: user + "/export", tag: tagUsers, scope: access.Erase, status: http.StatusOK, lines: true,
		errors: []int{http.StatusConflict}, summary: "Export a user",
		description: "Returns a user's memory as JSON lines: a header, then memories with versions and vectors, turns, session " +
			"records and the core " +
			"block. A connection that breaks off before the end is an export that failed.",
	}, a.exportUser)
	register(a, operation{
		id: "import-user", method: http.MethodPost, path: user + "/import", tag: tagUsers, scope: access.Erase, status: http.StatusOK,
		errors: []int{http.StatusConflict}, summary: "Import a user",
		description: "Writes an export into an empty memory. A larger export than 4 MiB is sent in pages, one after the other: " +
			"each has the export's first " +
			"line, and then the whole lines that follow those of the page before; and each but the first has `next_cursor` of the " +
			"answer before as `cursor`; the answer to the last has none. " +
			"Nothing else may be written meanwhile. A page that comes again is refused as a conflict.",
	}, a.importUser)
	register(a, operation{
		id: "erase-user", method: http.MethodDelete, path: user, tag: tagUsers, scope: access.Erase, status: http.StatusAccepted,
		errors: []int{http.StatusConflict}, summary: "Erase a user",
		description: "Erases everything that is kept of a user: what was said before is erased, what is said after is new. With " +
			"the same Idempotency-Key it is the same erasure.",
	}, a.eraseUser)
	register(a, operation{
		id: "get-erasure", method: http.MethodGet, path: user + "/erasures/{erasure}", tag: tagUsers, scope: access.Erase, status: http.StatusOK,
		errors: []int{http.StatusNotFound, http.StatusConflict}, summary: "Get how far an erasure is",
		description: "Says how far an erasure is. One that was never asked for, or was done long ago, is not found.",
	}, a.getErasure)
	register(a, operation{
		id: "scan-user", method: http.MethodGet, path: user + "/scan", tag: tagUsers, scope: access.Erase, status: http.StatusOK,
		summary: "Count what is kept of a user", description: "Counts what is kept of a user, in every store that an " +
			"erasure removes it from.",
	}, a.scanUser)
}

func (a *API) exportUser(ctx context.Context, in *userRequest) (*exported, error) {
	stream, err := a.Services.UserData.ExportUser(ctx, connect.NewRequest(&mnemev1.ExportUserRequest{UserId: string(in.User)}))
	if err != nil {
		return nil, err
	}
	if !stream.Receive() { // what goes wrong before the first line is a problem
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
func (a *API) copyLines(ctx context.Context, w http.ResponseWriter, stream *connect.ServerStreamForClient[mnemev1.ExportUserResponse]) {
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

func (a *API) importUser(ctx context.Context, in *importUser) (*imported, error) {
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
		return nil, problem.Problem{Status: http.StatusRequestEntityTooLarge, Code: problem.CodeTooLarge, Detail: "the page is too " +
			"large: make two of it"}
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
	res, err := a.Services.UserData.ImportUser(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, err
	}
	c := res.Msg.GetSoFar()
	out := &imported{}
	out.Body.SoFar = BankCounts{c.GetMemories(), c.GetTurns(), c.GetSessions(), c.GetCore()}
	out.Body.EmbeddedAnew = res.Msg.GetEmbeddedAnew()
	if res.Msg.GetComplete() {
		return out, nil
	}
	next, err := json.Marshal(importPlace{place.Line + uint64(countLines(lines)), out.Body.SoFar}) //nolint:gosec // not negative
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

func (a *API) eraseUser(ctx context.Context, in *eraseUser) (*erasureAccepted, error) {
	user := string(in.User)
	req := &mnemev1.EraseUserRequest{UserId: user}
	if in.Key != "" {
		req.RequestId = deriveID(in.Key, "erasure of "+user, 0)
	}
	res, err := a.Services.UserData.EraseUser(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, err
	}
	out := &erasureAccepted{}
	out.Body.ErasureID = res.Msg.GetErasureId()
	out.Body.StatusURL = pathOf("users", user, "erasures", out.Body.ErasureID)
	return out, nil
}

func (a *API) getErasure(ctx context.Context, in *getErasure) (*erasureState, error) {
	res, err := a.Services.UserData.GetErasure(ctx, connect.NewRequest(&mnemev1.GetErasureRequest{
		UserId: string(in.User), ErasureId: string(in.Erasure),
	}))
	if err != nil {
		return nil, err
	}
	out := &erasureState{}
	out.Body.State, out.Body.DoneAt = word(res.Msg.GetState(), "ERASURE_STATE_"), timeOf(res.Msg.GetDoneAt())
	out.Body.Rounds, out.Body.StartedAt = res.Msg.GetRounds(), timeOf(res.Msg.GetStartedAt())
	for _, r := range res.Msg.GetRemaining() {
		out.Body.Remaining = append(out.Body.Remaining, StoreRemainder{r.GetStore(), r.GetCount(), timeOf(r.GetSince()), r.GetError()})
	}
	if out.Body.State == "pending" {
		return out, a.wasAccepted(ctx, string(in.User), idempotency.Erasure, string(in.Erasure))
	}
	return out, nil
}

func (a *API) scanUser(ctx context.Context, in *userRequest) (*scanned, error) {
	res, err := a.Services.UserData.ScanUser(ctx, connect.NewRequest(&mnemev1.ScanUserRequest{UserId: string(in.User)}))
	if err != nil {
		return nil, err
	}
	out := &scanned{}
	out.Body.Counts = each(res.Msg.GetCounts(), func(c *mnemev1.StoreCount) StoreCount { return StoreCount{c.GetStore(), c.GetCount()} })
	out.Body.Transport = each(res.Msg.GetTransport(), func(t *mnemev1.TransportTopic) Transport {
		return Transport{t.GetTopic(), t.GetTexts(), t.GetRetentionMs()}
	})
	return out, nil
}
