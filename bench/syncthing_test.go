package bench

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// syncthingConfig is one device: its own id, the other's, and where things are. The
// watcher's delay of one second is the least that it takes.
const syncthingConfig = `<configuration version="36">
<folder id="notes" path="%[1]s" type="sendreceive" rescanIntervalS="3600" fsWatcherEnabled="true" fsWatcherDelayS="1">
<device id="%[2]s"></device><device id="%[3]s"></device><filesystemType>basic</filesystemType>
</folder>
<device id="%[2]s" name="own"><address>dynamic</address></device>
<device id="%[3]s" name="other"><address>tcp://127.0.0.1:%[5]d</address></device>
<gui enabled="true" tls="false"><address>127.0.0.1:%[6]d</address><apikey>bench</apikey></gui>
<options><listenAddress>tcp://127.0.0.1:%[4]d</listenAddress><globalAnnounceEnabled>false</globalAnnounceEnabled>
<localAnnounceEnabled>false</localAnnounceEnabled><relaysEnabled>false</relaysEnabled><natEnabled>false</natEnabled>
<reconnectionIntervalS>1</reconnectionIntervalS><urAccepted>-1</urAccepted><crashReportingEnabled>false</crashReportingEnabled>
<autoUpgradeIntervalH>0</autoUpgradeIntervalH></options>
</configuration>
`

// syncthingSight is two devices that know each other.
func syncthingSight(b *testing.B) sight {
	b.Helper()
	var homes, ids [2]string
	var ports [4]int
	for i := range ports {
		ports[i] = freePort(b)
	}
	for i := range homes {
		homes[i] = b.TempDir()
		output(b, syncthing(homes[i], "generate", "--home", homes[i], "--no-default-folder"))
		ids[i] = strings.TrimSpace(output(b, syncthing(homes[i], "--home", homes[i], "--device-id")))
		if err := os.MkdirAll(filepath.Join(homes[i], "notes", ".stfolder"), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	for i, home := range homes {
		config := fmt.Sprintf(syncthingConfig, filepath.Join(home, "notes"), ids[i], ids[1-i], ports[i], ports[1-i], ports[2+i])
		if err := os.WriteFile(filepath.Join(home, "config.xml"), []byte(config), 0o600); err != nil {
			b.Fatal(err)
		}
		start(b, syncthing(home, "serve", "--home", home, "--no-browser", "--no-restart"))
	}
	s := sight{name: "Syncthing", from: filepath.Join(homes[0], "notes", "edited.md"), to: filepath.Join(homes[1], "notes", "edited.md")}
	s.timed(b, -1)
	return s
}

func syncthing(home string, arguments ...string) *exec.Cmd {
	command := exec.Command("syncthing", arguments...)
	command.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	return command
}

func freePort(b *testing.B) int {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}
