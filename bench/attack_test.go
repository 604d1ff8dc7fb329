package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// attacks are what a stranger, or somebody with a member's token, can do to a server over
// the network. They come from an address of their own.
var attacks = map[string]func(a attacker){
	// 4,000 connections whose header comes a byte a second.
	"slow-headers": func(a attacker) { a.crowd(4_000, a.slowHeader) },
	// 1,000 pushes that announce the largest body and send a byte a second.
	"slow-bodies": func(a attacker) { a.crowd(1_000, a.slowBody) },
	// Bodies of 1 MB that are 1 GB when they are decompressed, as fast as they are taken.
	"bombs": func(a attacker) { a.crowd(16, a.bombs) },
	// Tokens that nobody has, as fast as they are refused.
	"guesses": func(a attacker) { a.crowd(64, a.guesses) },
	// The largest bodies that are taken, with entries that are too many, as fast as they are refused.
	"large-bodies": func(a attacker) { a.crowd(32, a.largeBodies) },
}

// attacker attacks until ctx ends.
type attacker struct {
	ctx         context.Context
	base, token string
	client      *http.Client
	bomb, large []byte
}

// attack is the program: ATTACK KIND SECONDS URL TOKEN.
func attack(arguments []string) error {
	seconds, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	kind, known := attacks[arguments[0]]
	if !known {
		return errors.New("no attack is called " + arguments[0])
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second)
	defer cancel()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	a := attacker{ctx: ctx, base: arguments[2], token: arguments[3], client: &http.Client{Transport: &http.Transport{
		DialContext: dialer.DialContext, MaxIdleConnsPerHost: 128, DisableCompression: true,
	}}}
	if a.bomb, err = bomb(1 << 30); err != nil {
		return err
	}
	a.large = []byte(`{"entries":{"a.md":"` + strings.Repeat("a", 4<<20-100) + `"}}`)
	kind(a)
	return nil
}

// bomb is that many zeros, compressed.
func bomb(zeros int) ([]byte, error) {
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	block := make([]byte, 1<<20)
	for range zeros / len(block) {
		if _, err := packed.Write(block); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), packed.Close()
}

// crowd does something at so many places, again and again.
func (a attacker) crowd(n int, once func() error) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for a.ctx.Err() == nil {
				if err := once(); err != nil {
					select { // it was shown the door: it knocks again
					case <-time.After(100 * time.Millisecond):
					case <-a.ctx.Done():
					}
				}
			}
		})
	}
	all.Wait()
}

// slowly opens a connection, says something, and goes on a byte a second.
func (a attacker) slowly(begin string) error {
	at, err := url.Parse(a.base)
	if err != nil {
		return err
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := dialer.DialContext(a.ctx, "tcp", at.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	context.AfterFunc(a.ctx, func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, begin); err != nil {
		return err
	}
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for range second.C {
		if _, err := io.WriteString(conn, "a"); err != nil {
			return err
		}
	}
	return nil
}

func (a attacker) slowHeader() error {
	return a.slowly("GET /api/v1/whoami HTTP/1.1\r\nHost: teammem\r\nX-Long: ")
}

func (a attacker) slowBody() error {
	return a.slowly(fmt.Sprintf("PUT /api/claude_code/team_memory?repo=acme/slow HTTP/1.1\r\nHost: teammem\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n{", a.token, 4<<20))
}

func (a attacker) send(token string, body []byte, coding string) error {
	r, err := http.NewRequestWithContext(a.ctx, http.MethodPut, a.base+"/api/claude_code/team_memory?repo=acme/heavy", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if coding != "" {
		r.Header.Set("Content-Encoding", coding)
	}
	answer, err := a.client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return err
}

func (a attacker) bombs() error       { return a.send(a.token, a.bomb, "gzip") }
func (a attacker) largeBodies() error { return a.send(a.token, a.large, "") }
func (a attacker) guesses() error     { return a.send("tm_"+strings.Repeat("x", 40), nil, "") }
