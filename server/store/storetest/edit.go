package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// edit is one line of a commit: a key and its new content, or its end.
type edit struct {
	key     api.Key
	content string
	deleted bool
}

func write(key api.Key, content string) edit { return edit{key: key, content: content} }
func remove(key api.Key) edit                { return edit{key: key, deleted: true} }

func keysOf(edits []edit) []api.Key {
	keys := make([]api.Key, len(edits))
	for i, e := range edits {
		keys[i] = e.key
	}
	return keys
}

// at is an instant of the suite's own time: version n is made n minutes in.
func at(n api.Version) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
}

// modifiedAt is when version n's files say they were changed.
func modifiedAt(n api.Version) time.Time {
	return at(n).Add(-90 * time.Second).Add(123 * time.Millisecond)
}

// change does the sums that a ledger does, and none of its refusals.
func (w *world) change(state store.State, edits []edit) *store.Change {
	version := state.Head.Version + 1
	head := store.Head{
		Version: version, Checksum: setChecksum(version), Set: setState(version),
		Entries: state.Head.Entries, Bytes: state.Head.Bytes, LastModified: at(version), Proposals: state.Head.Proposals, Redacted: state.Head.Redacted,
	}
	change := &store.Change{Author: w.author}
	for _, e := range edits {
		change.Writes = append(change.Writes, e.write(version, state.Rows[e.key], &head))
	}
	change.Audit = audit.Record{
		Seq: int64(version), At: at(version), Action: "push", User: "dana", TokenUID: w.token.UID, Client: w.author.Client,
		Subject: subject(edits),
	}.Chain(state.Head.AuditHead)
	head.AuditHead = change.Audit.Hash
	change.Head = head
	return change
}

func (e edit) write(version api.Version, before store.Row, head *store.Head) store.Write {
	write := store.Write{Key: e.key, Fold: e.key.Fold(), Deleted: e.deleted}
	live := before.Checksum != "" && !before.Deleted
	if live {
		write.Previous = before.Checksum
		head.Entries--
		head.Bytes -= int64(before.Size)
	}
	if e.deleted {
		write.Checksum = before.Checksum
		return write
	}
	write.Checksum = api.ChecksumOfString(e.content)
	write.Size, write.Modified = len(e.content), modifiedAt(version)
	write.Body = store.Pack(write.Checksum, []byte(e.content))
	head.Entries++
	head.Bytes += int64(len(e.content))
	return write
}

// setChecksum stands for the checksum of a set: the store does not look into it.
func setChecksum(version api.Version) api.Checksum {
	return api.ChecksumOfString(fmt.Sprintf("set at version %d", version))
}

// setState stands for the ledger's accumulator, in its size.
func setState(version api.Version) []byte {
	sum := setChecksum(version).Sum()
	return bytes.Repeat(sum[:], 64)
}

func subject(edits []edit) []byte {
	text, err := json.Marshal(map[string][]api.Key{"keys": keysOf(edits)})
	if err != nil {
		panic(err) // a key is a string
	}
	return text
}

// show writes rows so that two lists can be compared and read.
func show(rows []store.Row) string {
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%s v%d %s", row.Key, row.Version, row.Checksum.Short())
		if row.Deleted {
			b.WriteString(" deleted")
		} else {
			fmt.Fprintf(&b, " %d bytes %s", row.Size, api.NewTime(row.Modified))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// rowsOf gives a state's rows in key order.
func rowsOf(state store.State) []store.Row {
	var rows []store.Row
	for _, row := range state.Rows {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b store.Row) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return rows
}

// row is what stands after a write of content at version.
func row(key api.Key, version api.Version, content string) store.Row {
	return store.Row{
		Key: key, Version: version, Checksum: api.ChecksumOfString(content), Size: len(content), Modified: modifiedAt(version),
	}
}

// tombstone is what stands after content was deleted at version.
func tombstone(key api.Key, version api.Version, content string) store.Row {
	return store.Row{Key: key, Version: version, Checksum: api.ChecksumOfString(content), Deleted: true}
}
