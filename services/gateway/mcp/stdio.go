package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// maxLine is how long a message over standard input may be, as over HTTP.
const maxLine = problem.MaxBody

// Stdio is the transport over standard input and output, one message per line. Unlike the SDK's transport, it
// answers an invalid line and reads on. At the end of the input, it answers all open calls before it ends.
type Stdio struct {
	In  io.Reader
	Out io.Writer
}

// Connect implements sdk.Transport.
func (t Stdio) Connect(context.Context) (sdk.Connection, error) {
	c := &lines{
		in: t.In, out: t.Out, messages: make(chan jsonrpc.Message), closed: make(chan struct{}),
		waiting: map[jsonrpc.ID]struct{}{}, answered: make(chan struct{}),
	}
	go c.scan()
	return c, nil
}

// lines is the one connection of a Stdio.
type lines struct {
	in       io.Reader
	messages chan jsonrpc.Message // closed at the end of the input, after err is set
	err      error
	closing  sync.Once
	closed   chan struct{}

	mu       sync.Mutex // also has each line be written as a whole
	out      io.Writer
	waiting  map[jsonrpc.ID]struct{} // calls without an answer yet
	ended    bool
	answered chan struct{} // closed when the input has ended and no call waits
}

// scan reads lines until the input ends. It runs in a separate goroutine, because no call reliably ends a waiting
// read of standard input.
func (c *lines) scan() {
	defer close(c.messages)
	in := bufio.NewReader(c.in)
	for {
		line, err := readLine(in)
		if msg := c.message(line); msg != nil {
			select {
			case c.messages <- msg:
			case <-c.closed:
				return
			}
		}
		if err != nil {
			c.err = err
			return
		}
	}
}

// readLine reads a line; of one that is too long only so much that it shows.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// message decodes a line. It answers an invalid line itself.
func (c *lines) message(line []byte) jsonrpc.Message {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	if len(line) > maxLine {
		c.refuse(invalid(jsonrpc.CodeInvalidRequest, "the line is too large"))
		return nil
	}
	msg, wrong := parse(line)
	if wrong != nil {
		c.refuse(wrong)
		return nil
	}
	return msg
}

// refuse answers a line. Where the output is away, the next answer finds it out.
func (c *lines) refuse(e *jsonrpc.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.out.Write(append(answer(nil, e), '\n'))
}

// Read implements sdk.Connection. It returns the end of the input only after all calls have an answer. The SDK
// would end the open calls.
func (c *lines) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case msg, more := <-c.messages:
		if more {
			c.await(msg)
			return msg, nil
		}
	case <-c.closed:
		return nil, io.EOF
	}
	c.mu.Lock()
	c.ended = true
	c.signalIdle()
	c.mu.Unlock()
	select {
	case <-c.answered:
	case <-c.closed:
	}
	return nil, c.err
}

// await notes that a call waits for its answer.
func (c *lines) await(msg jsonrpc.Message) {
	if call, ok := msg.(*jsonrpc.Request); ok && call.IsCall() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting[call.ID] = struct{}{}
	}
}

// signalIdle signals the waiting Read that all calls have an answer. The caller holds c.mu.
func (c *lines) signalIdle() {
	if c.ended && len(c.waiting) == 0 {
		close(c.answered)
	}
}

// Write implements sdk.Connection.
func (c *lines) Write(_ context.Context, msg jsonrpc.Message) error {
	body, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.out.Write(append(body, '\n')); err != nil {
		return err
	}
	if res, ok := msg.(*jsonrpc.Response); ok {
		if _, waits := c.waiting[res.ID]; waits {
			delete(c.waiting, res.ID)
			c.signalIdle()
		}
	}
	return nil
}

// Close implements sdk.Connection. It does not close the output, which belongs to the caller. It closes the input
// to end a waiting read, if that is possible.
func (c *lines) Close() (err error) {
	c.closing.Do(func() {
		close(c.closed)
		if in, ok := c.in.(io.Closer); ok {
			err = in.Close()
		}
	})
	return err
}

// SessionID implements sdk.Connection: there is one session, without a name.
func (*lines) SessionID() string { return "" }
