package mcp_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/teammem/teammem/client/mcp"
)

// TestStdioSurvivesWhatIsNoMessage: each such line is answered, and the calls before and
// after it as well.
func TestStdioSurvivesWhatIsNoMessage(t *testing.T) {
	b := newBox(t)
	in, send := io.Pipe()
	receive, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- b.server.Run(t.Context(), mcp.Stdio(in, out)) }()
	answers := bufio.NewScanner(receive)
	say := func(line string) {
		if _, err := io.WriteString(send, line+"\n"); err != nil {
			t.Error(err)
		}
	}
	hear := func() (answer struct {
		ID    *int               `json:"id"`
		Error struct{ Code int } `json:"error"`
	},
	) {
		if !answers.Scan() {
			t.Fatal("the session is over:", answers.Err())
		}
		if err := json.Unmarshal(answers.Bytes(), &answer); err != nil {
			t.Fatalf("%v: %s", err, answers.Bytes())
		}
		return answer
	}
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	if got := hear(); got.ID == nil || *got.ID != 1 {
		t.Fatalf("initialize: %+v", got)
	}
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for line, code := range map[string]int{
		"garbage":                  -32700,
		`{"jsonrpc":"2.0","id":9,`: -32700,
		"\x00\xff":                 -32700,
		"[]":                       -32600,
		"7":                        -32600,
		"null":                     -32600,
		`{"id":9}`:                 -32600,
		`{"jsonrpc":"1.0","id":9,"method":"ping"}`: -32600,
		`"` + strings.Repeat("x", 17<<20) + `"`:    -32600,
	} {
		say(line)
		if got := hear(); got.ID != nil || got.Error.Code != code {
			t.Errorf("%.40q: %+v, want code %d", line, got, code)
		}
		say("")
		say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		if got := hear(); got.ID == nil || *got.ID != 2 || got.Error.Code != 0 {
			t.Fatalf("ping after %.40q: %+v", line, got)
		}
	}
	if err := send.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}
