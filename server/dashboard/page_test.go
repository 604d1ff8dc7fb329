package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// TestFaults: what went wrong is told with what to do, and what is not ours to tell is
// not told.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		err     error
		status  int
		message string
	}{
		{&fault{http.StatusTeapot, "Tea.", "Drink."}, http.StatusTeapot, "Tea."},
		{&api.Error{Code: api.NotFound, Message: "there is no entry"}, http.StatusNotFound, "There is no entry."},
		{fmt.Errorf("read: %w", store.ErrBusy), http.StatusServiceUnavailable, "The database is busy."},
		{fmt.Errorf("read: %w", context.DeadlineExceeded), http.StatusServiceUnavailable, "The database is busy."},
		{&http.MaxBytesError{Limit: 1}, http.StatusRequestEntityTooLarge, "The form is larger than the server takes."},
		{errors.New("dial postgres://secret@host"), http.StatusInternalServerError, "The server failed."},
	} {
		f := faultOf(c.err)
		if f.status != c.status || f.message != c.message || f.hint == "" {
			t.Errorf("%v is told as %d %q %q", c.err, f.status, f.message, f.hint)
		}
		if titleOf(f.status) == "" {
			t.Errorf("%d has no title", f.status)
		}
	}
}

func TestFormats(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for got, want := range map[string]string{
		ago(now, time.Time{}): "never", ago(now, now): "just now", ago(now, now.Add(-90*time.Second)): "1 min ago", ago(now, now.Add(-26*time.Hour)): "1 day ago",
		ago(now, now.Add(-100*24*time.Hour)): "3 months ago", ago(now, now.Add(-3*365*24*time.Hour)): "3 years ago", ago(now, now.Add(49*time.Hour)): "in 2 days",
		number(1234567): "1,234,567", number(-1234): "-1,234", number(12): "12", size(999): "999 B", size(250_000): "250.0 KB", size(int64(3_400_000)): "3.4 MB",
		count(1, "entry"): "1 entry", count(2, "entry"): "2 entries", count(1000, "day"): "1,000 days", sentence("it is so"): "It is so.", sentence("über?"): "Über?",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := before("b.md") < "b.md" && before("b.md") > "a.md" && before("a") < "a"; !got {
		t.Error("before is not just before")
	}
}
