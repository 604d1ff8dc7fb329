package client_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/servertest"
)

// TestABackupIsRestored: BR-18 with two clients that wrote after the backup. The server
// comes back under the same address with what it had then; nothing that anybody wrote
// since is lost, at either client or for one that comes new.
func TestABackupIsRestored(t *testing.T) {
	box := servertest.Start(t)
	dana, lee := newMachine(t, box, "dana", "acme/widgets").quick(), newMachine(t, box, "lee", "acme/widgets").quick()
	newcomer := newMachine(t, box, "kim", "acme/widgets").quick()
	dana.write("both.md", "before\n")
	dana.write("danas.md", "before\n")
	stops := []func(){dana.run(), lee.run()}
	lee.arrives("danas.md", "before\n")
	lee.arrives("both.md", "before\n")

	log := slog.New(slog.DiscardHandler)
	file := filepath.Join(t.TempDir(), "x.backup")
	if _, err := server.Backup(t.Context(), log, box.Config.DatabaseURL(), file, time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	dana.write("danas.md", "after, by dana\n")
	lee.arrives("danas.md", "after, by dana\n")
	lee.write("lees.md", "new, by lee\n")
	dana.arrives("lees.md", "new, by lee\n")
	lee.write("both.md", "after, by lee\n")
	dana.arrives("both.md", "after, by lee\n")

	box.Close()
	lee.write("away.md", "written while the server was away\n")
	box.Config.Database = "sqlite://" + filepath.Join(t.TempDir(), "restored.db")
	if _, err := server.Restore(t.Context(), log, box.Config.Database, file, nil); err != nil {
		t.Fatal(err)
	}
	box.Restart()

	// A server that knows less than before is not believed by itself: each says yes.
	for i, m := range []*machine{dana, lee} {
		await(t, "it halts", func() bool { return len(m.eventsOf(syncer.EventHalted)) > 0 })
		stops[i]()
		m.cfg.Accept = true
		m.run()
	}
	newcomer.run()
	for key, text := range map[string]string{
		"danas.md": "after, by dana\n", "lees.md": "new, by lee\n", "both.md": "after, by lee\n", "away.md": "written while the server was away\n",
	} {
		for _, m := range []*machine{dana, lee, newcomer} {
			m.arrives(key, text)
		}
	}
}
