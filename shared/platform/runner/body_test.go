package runner_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// briefly is a body timeout that a test can wait for.
var briefly = map[string]string{"MNEME_HTTP_BODY_TIMEOUT": "50ms"}

// protocols are the protocols of the services.
var protocols = map[string]func(*http.Protocols){
	"HTTP/1.1":           func(p *http.Protocols) { p.SetHTTP1(true) },
	"HTTP/2 without TLS": func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
}

// clientOf makes a client of one protocol.
func clientOf(t *testing.T, protocol func(*http.Protocols)) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	protocol(transport.Protocols)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// slow are handlers that wait for release, with any use of the body. They answer with the state of their context.
func slow(release <-chan struct{}, entered chan<- struct{}) http.Handler {
	wait := func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		fmt.Fprintf(w, "%v", r.Context().Err())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/late", readOrTimeout)
	mux.HandleFunc("/answer", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		wait(w, r)
	})
	mux.HandleFunc("/unread", wait)
	mux.HandleFunc("/closed", func(w http.ResponseWriter, r *http.Request) {
		_ = r.Body.Close()
		wait(w, r)
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "first ")
		_ = http.NewResponseController(w).Flush()
		wait(w, r)
	})
	return mux
}

func readOrTimeout(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); errors.Is(err, os.ErrDeadlineExceeded) {
		w.WriteHeader(http.StatusRequestTimeout)
	}
}

// beLate sends a body that never ends and waits until it is cut off. So the time of all bodies before is over too.
func beLate(t *testing.T, client *http.Client, url string) {
	t.Helper()
	body, end := io.Pipe()
	defer end.Close()
	go func() { _, _ = io.WriteString(end, "the beginning") }()
	resp, err := client.Post(url+"/late", "text/plain", body)
	if err != nil {
		t.Errorf("a late body: %v", err)
		return
	}
	if resp.Body.Close() != nil || resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a late body was answered %d", resp.StatusCode)
	}
}

func TestTheTimeOfBodiesEndsNoHandlerAndNoAnswer(t *testing.T) {
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			release, entered := make(chan struct{}), make(chan struct{})
			i := launch(t, serving(&runner.App{Handler: slow(release, entered)}), briefly)
			i.awaitStatus("/readyz", http.StatusOK)
			client, answers := clientOf(t, protocol), make(chan string)
			paths := map[string]string{"/answer": "<nil>", "/unread": "<nil>", "/closed": "<nil>", "/stream": "first <nil>"}
			for path, want := range paths {
				go func() {
					resp, err := client.Post(i.url+path, "text/plain", strings.NewReader("all of it"))
					if err != nil {
						answers <- fmt.Sprintf("%s: %v", path, err)
						return
					}
					defer resp.Body.Close()
					got, err := io.ReadAll(resp.Body)
					if err != nil || string(got) != want {
						answers <- fmt.Sprintf("%s answered %q, %v", path, got, err)
						return
					}
					answers <- ""
				}()
			}
			for range paths {
				<-entered
			}
			beLate(t, client, i.url)
			close(release)
			for range paths {
				if wrong := <-answers; wrong != "" {
					t.Error(wrong)
				}
			}
			if err := i.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAConnectionIsUsedAgainAfterTheTimeOfABody(t *testing.T) {
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			i := launch(t, serving(&runner.App{Handler: http.HandlerFunc(readOrTimeout)}), briefly)
			i.awaitStatus("/readyz", http.StatusOK)
			client, other := clientOf(t, protocol), clientOf(t, protocol)
			for n := range 3 {
				reused := false
				trace := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
					GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused },
				})
				req, err := http.NewRequestWithContext(trace, http.MethodPost, i.url+"/", strings.NewReader("all of it"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.Body.Close() != nil ||
					resp.StatusCode != http.StatusOK {
					t.Errorf("call %d was answered %d, %v", n, resp.StatusCode, err)
				}
				if reused != (n > 0) {
					t.Errorf("call %d on a connection used before: %v", n, reused)
				}
				beLate(t, other, i.url)
			}
			if err := i.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAConnectionEndsSoonAfterABodyThatNobodyReads(t *testing.T) {
	i := launch(t, serving(&runner.App{Handler: http.NotFoundHandler()}),
		map[string]string{"MNEME_HTTP_BODY_TIMEOUT": "1h"})
	i.awaitStatus("/readyz", http.StatusOK)
	for request, want := range map[string]string{
		"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nbegin":           "HTTP/1.1 404",
		"POST /rpc HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nbeg": "HTTP/1.1 404",
		"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n":             "HTTP/1.1 200",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(i.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Error(err)
		}
		got, err := io.ReadAll(conn) // until the other side closes
		if err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("%.20q was answered %q, %v", request, got, err)
		}
		_ = conn.Close()
	}
	if err := i.end(); err != nil {
		t.Error(err)
	}
}
