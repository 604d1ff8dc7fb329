package bench

import (
	"fmt"
	"os"
	"testing"
)

// peerEnvironment names the variable that turns this test binary into one of the
// peers, which are processes of their own.
const peerEnvironment = "TEAMMEM_BENCH_PEER"

// peers are the programs that this binary can be.
var peers = map[string]func(arguments []string) error{
	"http":   bareHTTP,
	"sqlite": bareSQLite,
	"load":   loadHTTP,
	"attack": attack,
	"honest": honest,
}

func TestMain(m *testing.M) {
	peer, asked := peers[os.Getenv(peerEnvironment)]
	if !asked {
		m.Run()
		return
	}
	if err := peer(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		panic("the peer failed")
	}
}
