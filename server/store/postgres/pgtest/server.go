package pgtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// installed are the places where distributions put the server's binaries.
var installed = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/usr/local/pgsql/bin",
}

// Server is a Postgres of the test process's own.
type Server struct {
	Address string // of its database "postgres", as its superuser
	Dir     string // its files: data, log

	kind  kind
	bin   string
	alive io.Closer // the watcher ends the server when this closes
}

// binaries finds the newest installation.
func binaries() (string, error) {
	for _, pattern := range installed {
		found, _ := filepath.Glob(filepath.Join(pattern, "initdb"))
		if len(found) > 0 {
			return filepath.Dir(found[len(found)-1]), nil
		}
	}
	return "", fmt.Errorf("no PostgreSQL found: install it, or name a running one in %s", Environment)
}

// start makes a cluster and starts it. Settings that cost safety are for tests.
func start(bin string, k kind) (*Server, error) {
	dir, err := os.MkdirTemp("", "teammem-postgres-")
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, kind: k, bin: bin}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.watch(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.launch(); err != nil {
		log, _ := os.ReadFile(s.file("log"))
		return nil, errors.Join(err, fmt.Errorf("its log: %s", log), s.alive.Close())
	}
	return s, nil
}

func (s *Server) prepare() error {
	if os.Geteuid() == 0 {
		if err := run(exec.Command("chown", "postgres:", s.Dir)); err != nil {
			return err
		}
	}
	return run(s.command("initdb", "-D", s.file("data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"))
}

// launch starts the server on a free port. The port may be taken between asking
// for it and using it, so there is more than one try.
func (s *Server) launch() (err error) {
	for range 3 {
		var port int
		if port, err = freePort(); err != nil {
			return err
		}
		if err = s.launchAt(port); err == nil {
			s.Address = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
			return nil
		}
	}
	return err
}

func (s *Server) launchAt(port int) error {
	options := fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200", port)
	if !s.kind.durable {
		options += " -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
	}
	return run(s.command("pg_ctl", "-D", s.file("data"), "-w", "-t", "30", "-l", s.file("log"), "-o", options, "start"))
}

// watch starts a shell that waits for its input to end, which it does with this
// process, and then ends the server.
func (s *Server) watch() error {
	stop := s.command("pg_ctl", "-D", s.file("data"), "-m", "immediate", "-w", "stop")
	script := `trap "" INT TERM HUP; cat; dir=$1; shift; "$@" >/dev/null 2>&1; rm -rf "$dir"`
	watcher := exec.Command("sh", append([]string{"-c", script, "watcher", s.Dir}, stop.Args...)...)
	watcher.Dir = "/"
	input, err := watcher.StdinPipe()
	if err != nil {
		return err
	}
	s.alive = input
	return watcher.Start()
}

// command runs one of the server's programs, as the user it insists on: it
// refuses to run as root.
func (s *Server) command(program string, arguments ...string) *exec.Cmd {
	return asPostgres(filepath.Join(s.bin, program), arguments...)
}

// asPostgres is a command that root runs as the user postgres.
func asPostgres(path string, arguments ...string) *exec.Cmd {
	command := exec.Command(path, arguments...)
	if os.Geteuid() == 0 {
		command = exec.Command("runuser", append([]string{"-u", "postgres", "--", path}, arguments...)...)
	}
	// The directory the tests run in may be closed to that user.
	command.Dir = "/"
	return command
}

func (s *Server) file(name string) string { return filepath.Join(s.Dir, name) }

// Port is where the server listens.
func (s *Server) Port() string {
	_, rest, _ := strings.Cut(s.Address, "127.0.0.1:")
	port, _, _ := strings.Cut(rest, "/")
	return port
}

// run keeps what the command says for its error. Output goes through a file, not
// a pipe: the server that pg_ctl leaves behind would hold a pipe open.
func run(command *exec.Cmd) error {
	output, err := os.CreateTemp("", "teammem-output-")
	if err != nil {
		return err
	}
	defer func() {
		_ = output.Close()
		_ = os.Remove(output.Name())
	}()
	command.Stdout, command.Stderr = output, output
	if err := command.Run(); err != nil {
		said, _ := os.ReadFile(output.Name())
		return fmt.Errorf("%s: %w: %s", filepath.Base(command.Path), err, bytes.TrimSpace(said))
	}
	return nil
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return 0, err
	}
	number, err := strconv.Atoi(port)
	return number, errors.Join(err, listener.Close())
}
