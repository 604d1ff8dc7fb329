package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// longestLine is what one message may have.
const longestLine = sdk.DefaultMaxLineLength / 2

// Stdio is the transport to an agent that starts us: a message a line. A line that is no
// message is answered as JSON-RPC says, and the session goes on; the library would end
// it, and with it the calls that are under way.
func Stdio(in io.ReadCloser, out io.WriteCloser) sdk.Transport {
	whole := &wholeLines{WriteCloser: out}
	return &sdk.IOTransport{Reader: &messages{ReadCloser: in, lines: bufio.NewReaderSize(in, 64<<10), out: whole}, Writer: whole}
}

// wholeLines keeps apart the lines of two writers.
type wholeLines struct {
	io.WriteCloser
	mu sync.Mutex
}

func (w *wholeLines) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(line)
}

// messages are the lines that are messages.
type messages struct {
	io.ReadCloser
	lines *bufio.Reader
	out   io.Writer
	rest  []byte // of the line that is being read
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if len(line) > 0 {
			if answer := objection(line); answer != nil {
				if _, err := m.out.Write(answer); err != nil {
					return 0, err
				}
			} else {
				m.rest = append(line, '\n')
			}
		}
		if err != nil && len(m.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// line reads a line without its end, of one that is too long only as much as shows that.
func (m *messages) line() (line []byte, err error) {
	for {
		part, err := m.lines.ReadSlice('\n')
		if len(line) <= longestLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), err
		}
	}
}

// objection is the answer to a line that is no message, nil for one that is. Several
// messages in one array, which old versions of the protocol have, are the library's
// business.
func objection(line []byte) []byte {
	switch {
	case len(line) > longestLine:
		return problem(jsonrpc.CodeInvalidRequest, "the message is too long: 8 MiB are the most")
	case !json.Valid(line):
		return problem(jsonrpc.CodeParseError, "the line is not JSON: send one message a line")
	case line[0] == '[' && len(line) > 2:
		return nil
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return problem(jsonrpc.CodeInvalidRequest, "the line is no JSON-RPC message")
	}
	return nil
}

func problem(code int64, message string) []byte {
	type fault struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}
	line, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      *int   `json:"id"`
		Error   fault  `json:"error"`
	}{"2.0", nil, fault{code, message}})
	if err != nil {
		panic(err) // of numbers and strings there is none
	}
	return append(line, '\n')
}
