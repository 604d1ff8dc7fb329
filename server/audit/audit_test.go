package audit

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC)

// threeRecords is a trail as a ledger would write it.
func threeRecords() []Record {
	var head [32]byte
	var trail []Record
	for seq := range int64(3) {
		r := Record{Seq: seq + 1, At: noon.Add(time.Duration(seq) * time.Minute), Action: ActionPush, User: "dana", TokenUID: "tok_1", Client: "laptop", Subject: []byte(`{}`)}.Chain(head)
		head = r.Hash
		trail = append(trail, r)
	}
	return trail
}

func TestTrail(t *testing.T) {
	cases := []struct {
		name   string
		tamper func([]Record) []Record
		broken bool
	}{
		{"as written", func(r []Record) []Record { return r }, false},
		{"a user changed", func(r []Record) []Record { r[1].User = "lee"; return r }, true},
		{"a time changed", func(r []Record) []Record { r[1].At = r[1].At.Add(time.Millisecond); return r }, true},
		{"a client moved into the token", func(r []Record) []Record { r[1].TokenUID, r[1].Client = "tok_1laptop", ""; return r }, true},
		{"a subject changed", func(r []Record) []Record { r[2].Subject = []byte(`{ }`); return r }, true},
		{"a record taken out", func(r []Record) []Record { return append(r[:1], r[2:]...) }, true},
		{"the first taken out", func(r []Record) []Record { return r[1:] }, true},
		{"two swapped", func(r []Record) []Record { r[0], r[1] = r[1], r[0]; return r }, true},
		{"one doubled", func(r []Record) []Record { return []Record{r[0], r[0]} }, true},
		{"one changed and hashed anew", func(r []Record) []Record {
			r[1].User = "lee"
			r[1] = r[1].Chain(r[0].Hash)
			return r
		}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var trail Trail
			var err error
			for _, r := range c.tamper(threeRecords()) {
				if err = trail.Next(r); err != nil {
					break
				}
			}
			if errors.Is(err, ErrBroken) != c.broken {
				t.Errorf("got %v, want broken: %v", err, c.broken)
			}
		})
	}
}

// A store keeps milliseconds; what is hashed must not know more.
func TestHashSurvivesTheStoresTime(t *testing.T) {
	r := threeRecords()[0]
	r.At = time.UnixMilli(r.At.UnixMilli()).In(time.FixedZone("", 3600))
	if !r.Verify([32]byte{}) {
		t.Error("a record does not verify after its time was stored")
	}
}

func TestPushSubject(t *testing.T) {
	before, after := api.ChecksumOf([]byte("1")), api.ChecksumOf([]byte("2"))
	p := Push{Checksum: after, Keys: []KeyChange{
		{Key: "a<b>.md", After: after},
		{Key: "gone.md", Before: before},
	}}
	want := `{"checksum":"` + string(after) + `","keys":[{"key":"a<b>.md","after":"` + string(after) + `"},{"key":"gone.md","before":"` + string(before) + `"}]}`
	if got := p.Subject(); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	again, err := ParsePush(p.Subject())
	if err != nil || !bytes.Equal(again.Subject(), p.Subject()) {
		t.Errorf("the subject does not come back: %+v, %v", again, err)
	}
	if _, err := ParsePush([]byte("[]")); err == nil {
		t.Error("an array was read as a push")
	}
}
