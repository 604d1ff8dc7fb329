package signin

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammem/client/config"
)

// TestAFullDisk: a refresh token is not used up where the next cannot be kept.
func TestAFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a file system for this test")
	}
	const origin = "https://memory.acme.example"
	var asked atomic.Int32
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"second","token_type":"Bearer","refresh_token":"next","expires_in":300}`))
	}))
	t.Cleanup(provider.Close)
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("tmpfs cannot be mounted here:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	paths := config.Paths{Config: filepath.Join(disk, "teammem")}
	now := time.Now()
	grant := config.Grant{Token: "first", Refresh: "once", TokenURL: provider.URL, Issued: now.Add(-time.Hour), Expires: now}
	if err := paths.SaveGrant(origin, grant); err != nil {
		t.Fatal(err)
	}
	clock := now
	keeper := NewKeeper(paths, origin, provider.Client(), func() time.Time { return clock })
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if token := keeper.Token(context.Background(), grant); token != "first" || asked.Load() != 0 {
		t.Errorf("on a full disk the token is %q, and the provider was asked %d times", token, asked.Load())
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(time.Hour)
	if token := keeper.Token(context.Background(), grant); token != "second" || asked.Load() != 1 {
		t.Errorf("with room the token is %q, and the provider was asked %d times", token, asked.Load())
	}
	if kept, ok, err := paths.Grant(origin); err != nil || !ok || kept.Refresh != "next" {
		t.Errorf("kept is %v, %v, %v", kept, ok, err)
	}
}
