package auth

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

func addr(s string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(s)} }

func TestTheTenthFailureClosesTheDoorForAMinute(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	d := NewDoor(0, func() time.Time { return now })
	for i := range DefaultFailures {
		if err := d.Check(addr("192.0.2.1"), "dana"); err != nil {
			t.Fatalf("after %d failures: %v", i, err)
		}
		d.Failed(addr("192.0.2.1"), "")
		now = now.Add(time.Second)
	}
	err := d.Check(addr("192.0.2.1"), "lee")
	e, ok := api.AsError(err)
	if !ok || e.Code != api.RateLimit || e.RetryAfter != 50*time.Second {
		t.Fatalf("after ten failures: %+v", err)
	}
	if err := d.Check(addr("192.0.2.2"), "dana"); err != nil {
		t.Errorf("a neighbour is refused: %v", err)
	}
	now = now.Add(50 * time.Second)
	if err := d.Check(addr("192.0.2.1"), ""); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

func TestAnAccountIsHeldUpFromEverywhere(t *testing.T) {
	now := time.Now()
	d := NewDoor(0, func() time.Time { return now })
	for i := range DefaultFailures {
		d.Failed(addr(fmt.Sprintf("192.0.2.%d", i)), "dana")
	}
	if err := d.Check(addr("198.51.100.1"), "dana"); err == nil {
		t.Error("the account is let in")
	}
	if err := d.Check(addr("198.51.100.1"), "lee"); err != nil {
		t.Errorf("another account is refused: %v", err)
	}
}

// One subscriber has 2^64 addresses of IPv6.
func TestAnIPv6NetworkIsOneAddress(t *testing.T) {
	now := time.Now()
	d := NewDoor(0, func() time.Time { return now })
	for i := range DefaultFailures {
		d.Failed(addr(fmt.Sprintf("2001:db8::%x", i)), "")
	}
	if err := d.Check(addr("2001:db8::ffff"), ""); err == nil {
		t.Error("another address of the network is let in")
	}
	if err := d.Check(addr("2001:db8:0:1::1"), ""); err != nil {
		t.Errorf("another network is refused: %v", err)
	}
}

func TestTheDoorsMemoryIsBounded(t *testing.T) {
	now := time.Now()
	d := NewDoor(0, func() time.Time { return now })
	for i := range maxDoor + maxDoor/2 {
		d.Failed([]netip.Addr{netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})}, "")
	}
	if len(d.seen) > maxDoor {
		t.Errorf("%d failures are remembered", len(d.seen))
	}
}

// A token that was good a while ago is looked up whatever happens at its address,
// and one that was not is not even looked up.
func TestFailuresOfOthersLockNobodyOut(t *testing.T) {
	f := newFixture(t)
	f.auth.door = NewDoor(0, func() time.Time { return f.clock })
	secret, _ := f.token(time.Time{})
	given := func(s string) Credentials {
		return Credentials{Authorization: "Bearer " + s, From: addr("192.0.2.1")}
	}
	if _, err := f.auth.Authenticate(t.Context(), given(secret)); err != nil {
		t.Fatal(err)
	}
	for i := range DefaultFailures {
		if _, err := f.auth.Authenticate(t.Context(), given(fmt.Sprint("tm_wrong", i))); api.CodeOf(err) != api.Authentication {
			t.Fatalf("failure %d: %v", i, err)
		}
	}
	f.clock = f.clock.Add(FoundFor)
	reads := f.reads.Load()
	if _, err := f.auth.Authenticate(t.Context(), given("tm_wrong11")); api.CodeOf(err) != api.RateLimit || f.reads.Load() != reads {
		t.Errorf("the eleventh: %v, %d reads", err, f.reads.Load()-reads)
	}
	if _, err := f.auth.Authenticate(t.Context(), given(secret)); err != nil {
		t.Errorf("the good token: %v", err)
	}
}
