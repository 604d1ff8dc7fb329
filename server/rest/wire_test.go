package rest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/teammem/teammem/api"
)

// listen puts the box behind a real listener on loopback.
func (b *box) listen() *httptest.Server {
	s := httptest.NewServer(b.handler)
	b.t.Cleanup(s.Close)
	return s
}

// overTheWire gets the repo with one coding and gives the body decoded, or the
// error that its reader sees.
func (b *box) overTheWire(coding string) (string, error) {
	s := b.listen()
	r, err := http.NewRequest(http.MethodGet, s.URL+repoPath, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+b.member)
	r.Header.Set("Accept-Encoding", coding)
	answer, err := s.Client().Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", answer.StatusCode)
	}
	var body io.Reader = answer.Body
	if coding == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			return "", err
		}
	}
	text, err := io.ReadAll(body)
	return string(text), err
}

// pack compresses for a test.
func pack(t *testing.T, coding string, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	switch coding {
	case "gzip":
		w := gzip.NewWriter(&b)
		_, err := w.Write(text)
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	case "zstd":
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(text)
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	default:
		b.Write(text)
	}
	return b.Bytes()
}

func TestCompressedAnswersKeepTheStrongTag(t *testing.T) {
	b := newBox(t, nil, nil)
	tag := b.put(map[api.Key]string{"a.md": strings.Repeat("text ", 1000)}).Header().Get("ETag")
	for _, accept := range []string{"gzip", "zstd", "gzip, zstd;q=0.5", ""} {
		w := b.do(http.MethodGet, repoPath, b.member, "", "Accept-Encoding", accept)
		want := map[string]string{"gzip": "gzip", "zstd": "zstd", "gzip, zstd;q=0.5": "gzip"}[accept]
		if got := w.Header().Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q: Content-Encoding %q, want %q", accept, got, want)
		}
		if w.Header().Get("ETag") != tag || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: ETag %s, Vary %s", accept, w.Header().Get("ETag"), w.Header().Get("Vary"))
		}
		if want != "" && w.Body.Len() > 2000 {
			t.Errorf("%s: %d bytes", accept, w.Body.Len())
		}
	}
}

func TestCompressedRequests(t *testing.T) {
	b := newBox(t, nil, nil)
	body := []byte(`{"entries":{"a.md":"a"}}`)
	tests := []struct {
		name, coding string
		body         []byte
		status       int
		errorCode    string
	}{
		{"gzip", "gzip", pack(t, "gzip", body), 200, ""},
		{"zstd", "zstd", pack(t, "zstd", body), 200, ""},
		{"identity", "identity", body, 200, ""},
		{"upper case", "GZIP", pack(t, "gzip", body), 200, ""},
		{"identity and gzip", "identity, gzip", pack(t, "gzip", body), 200, ""},
		{"brotli", "br", body, 415, api.ErrorCodeContentCoding},
		{"gzip twice", "gzip, gzip", pack(t, "gzip", pack(t, "gzip", body)), 415, api.ErrorCodeContentCoding},
		{"not gzip", "gzip", body, 400, api.ErrorCodeBadBody},
		{"not zstd", "zstd", body, 400, api.ErrorCodeBadBody},
		{"gzip cut short", "gzip", pack(t, "gzip", body)[:20], 400, api.ErrorCodeBadBody},
		{"zstd cut short", "zstd", pack(t, "zstd", body)[:20], 400, api.ErrorCodeBadBody},
		{"gzip and more", "gzip", append(pack(t, "gzip", body), "more"...), 400, api.ErrorCodeBadBody},
		{"gzip bomb", "gzip", pack(t, "gzip", make([]byte, 6<<20)), 413, api.ErrorCodeBodyTooLarge},
		{"zstd bomb", "zstd", pack(t, "zstd", make([]byte, 6<<20)), 413, api.ErrorCodeBodyTooLarge},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := b.do(http.MethodPut, repoPath, b.member, string(test.body), "Content-Encoding", test.coding)
			if test.errorCode == "" {
				if w.Code != test.status {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				return
			}
			wantError(t, w, test.status, map[int]api.Code{400: api.InvalidRequest, 413: api.RequestTooLarge, 415: api.InvalidRequest}[test.status], test.errorCode)
			if test.status == http.StatusUnsupportedMediaType && w.Header().Get("Accept-Encoding") != "gzip, zstd" {
				t.Errorf("Accept-Encoding is %q", w.Header().Get("Accept-Encoding"))
			}
		})
	}
}

// sized is a PUT body of exactly n bytes.
func sized(n int) string {
	const open, end = `{"entries":{"a.md":"a"},"padding":"`, `"}`
	return open + strings.Repeat("p", n-len(open)-len(end)) + end
}

// A refused body is drained: its sender reads the answer, and no reset.
func TestTooLargeBodies(t *testing.T) {
	b := newBox(t, nil, nil)
	s := b.listen()
	limit := int(api.DefaultLimits.BodyBytes)
	for _, chunked := range []bool{false, true} {
		for size, status := range map[int]int{limit - 1: 200, limit: 200, limit + 1: 413, 10_000_000: 413} {
			t.Run(fmt.Sprintf("%d bytes, chunked %v", size, chunked), func(t *testing.T) {
				var body io.Reader = strings.NewReader(sized(size))
				if chunked {
					body = io.MultiReader(body) // hides its length
				}
				r, err := http.NewRequest(http.MethodPut, s.URL+repoPath, body)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+b.member)
				answer, err := s.Client().Do(r)
				if err != nil {
					t.Fatalf("the client sees %v", err)
				}
				defer answer.Body.Close()
				if answer.StatusCode != status {
					t.Errorf("status %d, want %d", answer.StatusCode, status)
				}
			})
		}
	}
}

// A naive client sends everything before it reads anything.
func TestTheRefusalIsSeenByAClientThatSendsFirst(t *testing.T) {
	b := newBox(t, nil, nil)
	addr := b.listen().Listener.Addr().String()
	for name, token := range map[string]string{"413": b.member, "401": "tm_wrong"} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			body := sized(12_000_000)
			fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", repoPath, token, len(body))
			if _, err := io.WriteString(conn, body); err != nil {
				t.Fatalf("send: %v", err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("read the answer: %v", err)
			}
			defer answer.Body.Close()
			if fmt.Sprint(answer.StatusCode) != name {
				t.Errorf("status %d, want %s", answer.StatusCode, name)
			}
			if _, err := io.ReadAll(answer.Body); err != nil {
				t.Errorf("read the body: %v", err)
			}
		})
	}
}

// raw sends text on a connection of its own and gives what comes back until the
// server closes it.
func raw(t *testing.T, addr, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the server does not close the connection")
	}
	return string(answer)
}

func TestASlowBodyGetsTheConnectionClosed(t *testing.T) {
	b := newBox(t, func(c *Config) { c.Body = 50 * time.Millisecond }, nil)
	addr := b.listen().Listener.Addr().String()
	for name, rest := range map[string]string{
		"length":  "Content-Length: 100\r\n\r\n{\"entries\"",
		"chunked": "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"ent\r\n",
		"gzip":    "Content-Encoding: gzip\r\nContent-Length: 100\r\n\r\n\x1f\x8b",
	} {
		t.Run(name, func(t *testing.T) {
			if answer := raw(t, addr, "PUT "+repoPath+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+b.member+"\r\n"+rest); answer != "" {
				t.Errorf("the server answers %q; want a closed connection", answer)
			}
		})
	}
}

func TestGarbageInChunks(t *testing.T) {
	b := newBox(t, nil, nil)
	addr := b.listen().Listener.Addr().String()
	for name, chunks := range map[string]string{
		"no number":       "zz\r\n",
		"too long a line": strings.Repeat("1", 5000) + "\r\n",
		"no end of chunk": "3\r\nabcdef\r\n",
		"minus":           "-1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			answer := raw(t, addr, "PUT "+repoPath+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+b.member+"\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks)
			if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, api.ErrorCodeBadBody) {
				t.Errorf("the server answers %q", answer)
			}
		})
	}
}

func TestABodyCutShortChangesNothing(t *testing.T) {
	b := newBox(t, nil, nil)
	addr := b.listen().Listener.Addr().String()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n%s", repoPath, b.member, `{"entries":{"a.md":"a"}}`)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d", answer.StatusCode)
	}
	if w := b.do(http.MethodGet, repoPath, b.member, ""); w.Code != http.StatusNotFound {
		t.Errorf("something was stored: %d", w.Code)
	}
}

func TestExpectContinueIsRefusedBeforeTheBody(t *testing.T) {
	b := newBox(t, nil, nil)
	addr := b.listen().Listener.Addr().String()
	answer := raw(t, addr, fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: 50000000\r\n\r\n", repoPath, b.member))
	if !strings.HasPrefix(answer, "HTTP/1.1 413 ") {
		t.Errorf("the server answers %q", answer)
	}
}
