package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// idle are the calls of the language's own runtime: they wait, tell the time, map
// memory and mind threads and signals, and change nothing that outlives the process.
// How many of them there are depends on the hour; all other calls are the program's.
var idle = []uint64{
	unix.SYS_FUTEX, unix.SYS_EPOLL_PWAIT, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME,
	unix.SYS_GETTIMEOFDAY, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_MMAP, unix.SYS_MUNMAP,
	unix.SYS_MADVISE, unix.SYS_MPROTECT, unix.SYS_MINCORE, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK,
	unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_TGKILL, unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_CLONE,
	unix.SYS_CLONE3, unix.SYS_PRCTL, unix.SYS_SETITIMER, unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME,
	unix.SYS_TIMER_DELETE, unix.SYS_RESTART_SYSCALL,
}

// kind is which calls are counted.
type kind string

const (
	working  kind = "working"  // on files, sockets and the rest of the world
	resting  kind = "resting"  // the runtime's, see idle
	flushing kind = "flushing" // those of the working ones that flush a file
)

func (k kind) has(number uint64) bool {
	switch k {
	case flushing:
		return number == unix.SYS_FSYNC
	case resting:
		return slices.Contains(idle, number)
	}
	return !slices.Contains(idle, number)
}

// trace says at which call to kill, and what came of it.
type trace struct {
	Kind   kind
	At     int // kill as the At-th call is entered; 0 counts only
	Calls  int // so many were entered
	Killed bool
	Number uint64 // of the call that was killed at
	Exit   int
	Fault  string
}

// traceEnvironment holds a trace for a process that is to carry it out: the parent
// of a traced program must be one that has no other children.
const traceEnvironment = "TEAMMEM_CRASH_TRACE"

func (tr trace) String() string {
	if !tr.Killed {
		return fmt.Sprintf("not killed, after %d %s calls", tr.Calls, tr.Kind)
	}
	return fmt.Sprintf("killed at %s call %d, number %d", tr.Kind, tr.At, tr.Number)
}

// traced runs a program, and kills it where the trace says. Other than strace, which
// counts each thread's calls by themselves, it counts those of all threads together,
// so that no call between the first and the last is passed over.
func (tr trace) traced(t *testing.T, command *exec.Cmd) trace {
	t.Helper()
	asked, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	tracer := exec.CommandContext(t.Context(), os.Args[0], command.Args...)
	tracer.Env = append(command.Env, traceEnvironment+"="+string(asked), "GOMAXPROCS=1")
	var said, complained strings.Builder
	tracer.Stdout, tracer.Stderr = &said, &complained
	if err := tracer.Run(); err != nil {
		t.Fatalf("tracing %s: %v: %s", command.Path, err, complained.String())
	}
	if err := json.Unmarshal([]byte(said.String()), &tr); err != nil || tr.Fault != "" {
		t.Fatalf("tracing %s: %v, %s: %s", command.Path, err, tr.Fault, complained.String())
	}
	return tr
}

// TestMain is the tracer where it is asked to be one.
func TestMain(m *testing.M) {
	asked := os.Getenv(traceEnvironment)
	if asked == "" {
		runAll(m)
		return
	}
	var tr trace
	err := json.Unmarshal([]byte(asked), &tr)
	if err == nil {
		err = tr.run(os.Args[1:])
	}
	if err != nil {
		tr.Fault = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(tr)
}

func (tr *trace) run(arguments []string) error {
	runtime.LockOSThread() // the kernel takes a tracer for a thread
	command := exec.Command(arguments[0], arguments[1:]...)
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := command.Start(); err != nil {
		return err
	}
	child := command.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(child, &status, unix.WALL, nil); err != nil {
		return err
	}
	if err := unix.PtraceSetOptions(child, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return err
	}
	thread, signal := child, 0
	for {
		// A thread that is gone meanwhile has nothing to go on with.
		if err := unix.PtraceSyscall(thread, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
		var err error
		for thread, err = unix.Wait4(-1, &status, unix.WALL, nil); errors.Is(err, unix.EINTR); {
			thread, err = unix.Wait4(-1, &status, unix.WALL, nil)
		}
		switch {
		case err != nil:
			return err
		case thread == child && (status.Exited() || status.Signaled()):
			tr.Exit = status.ExitStatus()
			return nil
		case !status.Stopped():
			continue
		}
		if signal, err = tr.stopped(child, thread, status); err != nil {
			return err
		}
	}
}

// stopped looks at why a thread stands still, and gives the signal that it goes on
// with.
func (tr *trace) stopped(child, thread int, status unix.WaitStatus) (signal int, err error) {
	const atCall = unix.SIGTRAP | 0x80
	switch stop := status.StopSignal(); {
	case stop == atCall:
		number, enters, err := callOf(thread)
		if err != nil || !enters || !tr.Kind.has(number) || tr.Killed {
			return 0, err
		}
		if tr.Calls++; tr.Calls == tr.At {
			tr.Killed, tr.Number = true, number
			return 0, unix.Kill(child, unix.SIGKILL)
		}
		return 0, nil
	case stop == unix.SIGTRAP, stop == unix.SIGSTOP:
		return 0, nil // a thread begins
	default:
		return int(stop), nil
	}
}

// callOf asks the kernel which call a thread enters. Its answer has one form on all
// processors.
func callOf(thread int) (number uint64, enters bool, err error) {
	var info struct {
		op     uint8
		_      [3]uint8
		_      uint32
		_, _   uint64
		number uint64
		_      [6]uint64
	}
	const entry = 1
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(thread), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	switch errno {
	case 0:
		return info.number, info.op == entry, nil
	case unix.ESRCH:
		return 0, false, nil
	}
	return 0, false, fmt.Errorf("asking for the call of a thread: %w (%d)", errno, thread)
}
