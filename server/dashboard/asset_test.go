package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/teammem/teammem/web"
)

// TestVendored: what others wrote is as they published it.
func TestVendored(t *testing.T) {
	list, err := web.Files.ReadFile("static/VENDORED.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")[1:]
	if len(lines) < 3 {
		t.Fatalf("only %d files are listed", len(lines))
	}
	for _, line := range lines {
		fields := strings.Split(line, "\t")
		content, err := web.Files.ReadFile("static/" + fields[0])
		if err != nil {
			t.Error(err)
			continue
		}
		sum := sha256.Sum256(content)
		if got := hex.EncodeToString(sum[:]); got != fields[5] {
			t.Errorf("%s of %s %s has the checksum %s, listed is %s", fields[0], fields[1], fields[2], got, fields[5])
		}
	}
}

// TestRoutesHaveRights: each route asks for a right, or is for those who are not signed
// in.
func TestRoutesHaveRights(t *testing.T) {
	h := &Handler{}
	seen := map[string]bool{}
	for _, r := range h.routes() {
		if seen[r.pattern] {
			t.Errorf("%s stands twice", r.pattern)
		}
		seen[r.pattern] = true
		if (r.open == nil) == (r.answer == nil) || r.open == nil && r.right == "" {
			t.Errorf("%s has no right, or two answers", r.pattern)
		}
	}
}
