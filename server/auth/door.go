package auth

import (
	"encoding/hex"
	"net/netip"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
)

const (
	// DefaultFailures is how many failed sign-ins a minute are borne.
	DefaultFailures = 10
	// doorTime is how long a failure counts.
	doorTime = time.Minute
	// maxDoor bounds the memory of failures; an entry is about 100 bytes.
	maxDoor = 1 << 16
)

// Door counts failed sign-ins by address and by account, and holds up whoever
// fails too often: nothing is looked up for them until a minute after the first of
// these failures. An IPv6 address counts with its network of 64 bits, which is what
// one subscriber has. The account of a token is the token itself, so that nobody
// can lock out another's; that of another sign-in is the name that was given.
//
// Its memory is bounded: when it is full of failures that all still count, one of
// them makes room for the next.
type Door struct {
	most int // failures; below 0: any number
	now  func() time.Time
	tell func(account string) // of each failure that counts; nil: nobody

	mu    sync.Mutex
	seen  map[string]failures
	swept time.Time
}

type failures struct {
	count int
	since time.Time
}

// NewDoor makes a door; most as in [Config.Failures].
func NewDoor(most int, now func() time.Time) *Door {
	if most == 0 {
		most = DefaultFailures
	}
	return &Door{most: most, now: now, seen: map[string]failures{}}
}

// Check lets in, or answers with an *[api.Error] of the code [api.RateLimit] that
// says when to come back. account may be empty. Of several addresses, which are
// those that proxies disagree about, each counts.
func (d *Door) Check(from []netip.Addr, account string) error {
	if d.most < 0 {
		return nil
	}
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	var wait time.Duration
	for _, key := range keysOf(from, account) {
		if f := d.seen[key]; f.count >= d.most {
			wait = max(wait, f.since.Add(doorTime).Sub(now))
		}
	}
	if wait <= 0 {
		return nil
	}
	return &api.Error{
		Code:       api.RateLimit,
		Message:    "too many failed sign-ins: wait, then try again with a valid token",
		Details:    api.Details{ErrorCode: api.ErrorCodeFailedSignIns},
		RetryAfter: wait,
	}
}

// Failed counts a failure.
func (d *Door) Failed(from []netip.Addr, account string) {
	if d.most < 0 {
		return
	}
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keysOf(from, account) {
		if d.tell != nil {
			d.tell(key)
		}
		f, known := d.seen[key]
		if !known {
			d.makeRoom(now)
		}
		if now.Sub(f.since) >= doorTime {
			f = failures{since: now}
		}
		f.count++
		d.seen[key] = f
	}
}

// Elsewhere notes how many failures all servers on the database counted, this one
// among them.
func (d *Door) Elsewhere(key string, count int, since time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, known := d.seen[key]
	if !known {
		d.makeRoom(d.now())
	}
	if count > f.count || d.now().Sub(f.since) >= doorTime {
		d.seen[key] = failures{count: count, since: since}
	}
}

func (d *Door) makeRoom(now time.Time) {
	if len(d.seen) < maxDoor {
		return
	}
	// Looking through all of them for each failure would be a gift to a flood.
	if now.Sub(d.swept) >= time.Second {
		d.swept = now
		for key, f := range d.seen {
			if now.Sub(f.since) >= doorTime {
				delete(d.seen, key)
			}
		}
	}
	for key := range d.seen {
		if len(d.seen) < maxDoor {
			return
		}
		delete(d.seen, key)
	}
}

func keysOf(from []netip.Addr, account string) []string {
	keys := make([]string, 0, len(from)+1)
	for _, addr := range from {
		keys = append(keys, "from "+subscriber(addr))
	}
	if account != "" {
		keys = append(keys, "account "+account)
	}
	return keys
}

// subscriber is what of an address one subscriber has.
func subscriber(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		if prefix, err := addr.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return addr.String()
}

func credentialAccount(hash [32]byte) string { return hex.EncodeToString(hash[:16]) }

// addressOf is the address that a record names.
func addressOf(from []netip.Addr) string {
	if len(from) == 0 {
		return ""
	}
	return from[0].Unmap().String()
}
