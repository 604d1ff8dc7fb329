package main

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"time"
)

// logBuffer collects log lines so that not each of them costs a system call, and
// writes them out after at most logDelay. Lines keep their order and stay whole. A
// kill −9 may take the last lines with it; what must survive that is in the audit
// trail and not in the log.
type logBuffer struct {
	mu    sync.Mutex
	out   *bufio.Writer
	flush *time.Timer // runs while something waits
	armed bool
}

const (
	logDelay       = 50 * time.Millisecond
	logBufferBytes = 64 << 10
)

func newLogBuffer(out io.Writer) *logBuffer {
	b := &logBuffer{out: bufio.NewWriterSize(out, logBufferBytes)}
	b.flush = time.AfterFunc(logDelay, func() { _ = b.Flush() })
	b.flush.Stop()
	return b
}

// Write takes one line.
func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(line) > b.out.Available() && b.out.Buffered() > 0 {
		// The underlying writer is given whole lines only.
		if err := b.out.Flush(); err != nil {
			return 0, err
		}
	}
	if !b.armed {
		b.armed = true
		b.flush.Reset(logDelay)
	}
	return b.out.Write(line)
}

// Flush writes out what waits.
func (b *logBuffer) Flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = false
	return b.out.Flush()
}

// Close stops the timer and writes out what waits.
func (b *logBuffer) Close() error {
	b.flush.Stop()
	err := b.Flush()
	if errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
