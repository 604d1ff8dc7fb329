package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/teammem/teammem/api"
)

// keys are few, so that people meet in them, and fewer than the brakes ask for.
var keys = []api.Key{"MEMORY.md", "a.md", "b.md", "sub/c.md", "A.md", "sub/C.md", "d.md"}

// word makes a word that nobody has typed before. All have one length.
func (w *world) word() string {
	w.words++
	return wordNumber(w.words)
}

// wordsOf finds the typed words of a text.
func wordsOf(text string) []string {
	var found []string
	for i := 0; i+7 <= len(text); i++ {
		if text[i] == 'w' && strings.Trim(text[i+1:i+7], "0123456789") == "" {
			found = append(found, text[i:i+7])
			i += 6
		}
	}
	return found
}

// save is a person's save: what they saw of the file is was, what they leave is
// text. Words that they took out are no longer missed.
func (w *world) save(m *machine, key api.Key, was, text string) {
	now := wordsOf(text)
	for _, word := range wordsOf(was) {
		if !slices.Contains(now, word) {
			w.dropped[word] = true
		}
	}
	w.meant[meaning{key, api.ChecksumOfString(text)}] = true
	m.typed[text] = true
	m.disk.put(key, text, m.now(), w.rng.IntN(2) == 0)
	w.logf("%s: saves %s: %s", m.name, key, show(text))
}

// edit is one change of one file by hand.
func (w *world) edit(m *machine) {
	key := keys[w.rng.IntN(len(keys))]
	if w.rng.IntN(3) == 0 && len(m.disk.files) > 0 { // rather a file that is there
		here := api.SortedKeys(m.disk.files)
		key = here[w.rng.IntN(len(here))]
	}
	w.editKey(m, key)
}

// editDuring is an edit that meets the client at work in the file.
func (w *world) editDuring(m *machine, key api.Key) {
	w.logf("%s: meanwhile", m.name)
	if name, f := m.disk.find(key); f != nil && w.rng.IntN(8) == 0 {
		w.removeByHand(m, name)
		return
	}
	w.editKey(m, key)
}

func (w *world) editKey(m *machine, key api.Key) {
	name, f := m.disk.find(key)
	if f == nil {
		w.save(m, key, "", w.newText(key))
		return
	}
	all := lines(f.text)
	at := 0
	if len(all) > 0 {
		at = w.rng.IntN(len(all))
	}
	switch n := w.rng.IntN(10); {
	case n < 3 || len(all) == 0:
		all = append(all, w.line(key))
	case n < 5:
		all = slices.Insert(all, at, w.line(key))
	case n < 7: // of the same size
		if words := wordsOf(all[at]); len(words) > 0 {
			all[at] = strings.Replace(all[at], words[0], w.word(), 1)
		}
	case n < 8:
		all[at] += " " + w.word()
	case n < 9:
		all = slices.Delete(all, at, at+1)
	default:
		all = lines(w.newText(key))
	}
	text := strings.Join(all, "\n")
	if len(all) > 0 && w.rng.IntN(12) > 0 {
		text += "\n"
	}
	w.save(m, name, f.text, text)
}

// appended is a text with one line more.
func (w *world) appended(m *machine, text string) string {
	return text + "- late " + w.word() + "\n"
}

func (w *world) line(key api.Key) string {
	if key.IsIndex() && w.rng.IntN(2) == 0 {
		target := keys[1+w.rng.IntN(4)]
		return fmt.Sprintf("- [About %s](%s) - %s", target, target, w.word())
	}
	return "- " + w.word()
}

func (w *world) newText(key api.Key) string {
	var b strings.Builder
	if !key.IsIndex() && w.rng.IntN(2) == 0 {
		fmt.Fprintf(&b, "---\nname: note\ndescription: %s\n---\n", w.word())
	}
	for range 1 + w.rng.IntN(4) {
		b.WriteString(w.line(key) + "\n")
	}
	return b.String()
}

// removeByHand deletes a file as people do.
func (w *world) removeByHand(m *machine, key api.Key) {
	w.drop(m.disk.files[key].text)
	delete(m.disk.files, key)
	w.logf("%s: deletes %s by hand", m.name, key)
}

// drop notes that a person has taken a text away knowingly.
func (w *world) drop(text string) {
	for _, word := range wordsOf(text) {
		w.dropped[word] = true
	}
}

// respell renames a file to another spelling of its name.
func (w *world) respell(m *machine) {
	for _, key := range api.SortedKeys(m.disk.files) {
		for _, other := range keys {
			if other == key || other.Fold() != key.Fold() || m.disk.files[other] != nil {
				continue
			}
			f := m.disk.files[key]
			delete(m.disk.files, key)
			m.disk.files[other] = f
			f.ctime = m.disk.stamp(m.now())
			w.meant[meaning{other, api.ChecksumOfString(f.text)}] = true
			w.logf("%s: renames %s to %s", m.name, key, other)
			return
		}
	}
}

// untrash puts a file back from the client's trash.
func (w *world) untrash(m *machine) {
	if len(m.memory.trash) == 0 {
		return
	}
	piece := m.memory.trash[w.rng.IntN(len(m.memory.trash))]
	if _, f := m.disk.find(piece.key); f == nil {
		w.save(m, piece.key, "", piece.text)
	}
}

// rm is client rm: an entry is deleted at the server, on what stands there.
func (w *world) rm(m *machine) {
	live := w.server.live()
	if len(live) == 0 {
		return
	}
	all := api.SortedKeys(live)
	key := all[w.rng.IntN(len(all))]
	sum := api.ChecksumOfString(live[key])
	push := api.Push{Deletions: []api.Key{key}, BaseChecksums: map[api.Key]*api.Checksum{key: &sum}}
	w.logf("%s: rm %s", m.name, key)
	w.drop(live[key]) // also when the reply is lost
	w.command(m, push)
}

// restore is client restore: an entry gets a text again that it had before.
func (w *world) restore(m *machine) {
	past := w.server.past()
	if len(past) == 0 {
		return
	}
	chosen := past[w.rng.IntN(len(past))]
	text, live := w.server.body(chosen.Checksum), w.server.live()
	for key := range live {
		if key != chosen.Key && key.Fold() == chosen.Key.Fold() {
			return
		}
	}
	push := api.Push{Entries: map[api.Key]string{chosen.Key: text}, BaseChecksums: map[api.Key]*api.Checksum{chosen.Key: nil}}
	if now, ok := live[chosen.Key]; ok {
		sum := api.ChecksumOfString(now)
		push.BaseChecksums[chosen.Key] = &sum
		w.drop(now)
	}
	w.meant[meaning{chosen.Key, chosen.Checksum}] = true
	w.logf("%s: restore %s of version %d", m.name, chosen.Key, chosen.Version)
	w.command(m, push)
}

// command sends a person's own change, as the command line does beside the daemon.
func (w *world) command(m *machine, push api.Push) {
	if _, err := m.client.Put(context.Background(), repo, push, ""); err != nil {
		w.logf("%s: %v", m.name, err)
	}
}

func wordNumber(n int) string { return fmt.Sprintf("w%06d", n) }
