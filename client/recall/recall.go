// Package recall finds the memories that matter for a question. No model is asked:
// memories are ranked by the words they share with it.
//
// A [Note] is a memory as it is indexed. Its name, its description and its text are
// fields of their own (BM25F), because a description is written to be recalled by.
// Words are compared under NFKC and case folding, English ones by a light stem,
// Chinese and Japanese by overlapping pairs of characters, Korean by pairs within a
// word without its ending; compounds such as MCP_INIT_TIMEOUT are found whole and by
// their pieces.
//
// The answer to a question is at most [Most] memories, and none when nothing is near
// enough: the best must hold a fair share of what the question asks, weighed by how
// rare its words are here. A word that no memory holds weighs the most, so a question
// about something else altogether finds nothing. Notes on how to use a tool that is
// in use already are left out, its warnings are not; so is what was shown before.
//
// An [Index] is in memory and grows by the note. A [Library] follows a memory
// directory: a file that changed is read again and no other. It keeps one file,
// recall.index, in the client's state directory, so that a new process reads none at
// all; the file is a cache, and losing it costs one reading.
//
// cmd/client and the doors for agents call it.
package recall

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Most is how many memories a question brings at most.
const Most = 5

// Note is a memory as it is indexed.
type Note struct {
	Path              string // with slashes; names the note in its index
	Name, Description string
	Type              string // one of the four types, or empty
	Modified          time.Time
	Body              string // read once, not kept
}

// Query is a question.
type Query struct {
	Text  string
	Tools []string // used lately; their plain reference notes are left out
	Shown []string // paths that were shown already
	Limit int      // 0 is [Most]
}

// Match is a memory that matters.
type Match struct {
	Note          // without its text
	Score float64 // for comparing within one answer
	// Reason names the words of the question that were found, and where.
	Reason string
}

// field is a part of a note.
type field int

const (
	inName field = iota
	inDescription
	inBody
	fields
)

func (f field) String() string { return [...]string{"name", "description", "text"}[f] }

// document is a note as the index holds it.
type document struct {
	note    Note
	terms   terms
	lengths [fields]int
	warns   bool // a reference note that holds a warning, see tools.go
	gone    bool
}

// Index ranks notes. It is safe for concurrent use.
type Index struct {
	mu     sync.RWMutex
	docs   []document     // in the order they came; a changed note is a new one
	byPath map[string]int // of those that are not gone
	total  [fields]int    // lengths of those that are not gone
	words  *splitter

	// Of docs[:turned] the terms are found in postings, where spans says; the notes
	// that came since are few and are looked through.
	turned   int
	postings []posting // of each term by document
	spans    map[uint32]span
	pool     sync.Pool // of *scratch
}

// posting says that a term stands in a note, and what that is worth.
type posting struct {
	doc   int32
	worth float32
	in    field
}

type span struct{ start, end int32 }

// NewIndex is an index without notes.
func NewIndex() *Index { return &Index{byPath: map[string]int{}, words: newSplitter()} }

// Len is the number of notes.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.byPath)
}

// Set adds a note, or replaces the one of that path.
func (x *Index) Set(n Note) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.set(documentOf(x.words, n))
}

func (x *Index) set(d document) {
	x.remove(d.note.Path)
	x.byPath[d.note.Path] = len(x.docs)
	x.docs = append(x.docs, d)
	for f, length := range d.lengths {
		x.total[f] += length
	}
	// An index that was made ready stays so.
	const few = 256
	if x.turned > 0 && len(x.docs)-x.turned > few+x.turned/8 {
		x.turn()
	}
}

// Remove takes a note out, if it is there.
func (x *Index) Remove(path string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(path)
}

func (x *Index) remove(path string) {
	at, ok := x.byPath[path]
	if !ok {
		return
	}
	delete(x.byPath, path)
	d := &x.docs[at]
	for f, length := range d.lengths {
		x.total[f] -= length
	}
	d.gone = true
}

// Ready prepares the index for many questions; what comes later is taken in as it
// comes. A process that asks one question does without.
func (x *Index) Ready() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.turned < len(x.docs) || len(x.docs) > len(x.byPath) {
		x.turn()
	}
}

// turn makes the postings of all notes, in two passes: how many each term has, then
// which.
func (x *Index) turn() {
	x.docs = slices.DeleteFunc(x.docs, func(d document) bool { return d.gone })
	x.spans = map[uint32]span{}
	size := int32(0)
	for i := range x.docs {
		x.byPath[x.docs[i].note.Path] = i
		for at := range x.docs[i].terms.len() {
			term := x.docs[i].terms.term(at)
			s := x.spans[term]
			s.end++
			x.spans[term] = s
			size++
		}
	}
	at := int32(0)
	for term, s := range x.spans {
		x.spans[term] = span{at, at}
		at += s.end
	}
	x.postings = make([]posting, size)
	for doc := range x.docs {
		for at := range x.docs[doc].terms.len() {
			c := x.docs[doc].terms.at(at)
			s := x.spans[c.term]
			x.postings[s.end] = x.post(doc, c)
			s.end++
			x.spans[c.term] = s
		}
	}
	x.turned = len(x.docs)
}

// find gives where a term stands. The result is read only.
func (x *Index) find(term uint32) []posting {
	s := x.spans[term]
	found := x.postings[s.start:s.end:s.end]
	if len(x.docs) > len(x.byPath) {
		found = slices.DeleteFunc(slices.Clone(found), func(p posting) bool { return x.docs[p.doc].gone })
	}
	for i := x.turned; i < len(x.docs); i++ {
		if d := &x.docs[i]; !d.gone {
			if c, ok := d.terms.find(term); ok {
				found = append(found, x.post(i, c))
			}
		}
	}
	return found
}

// documentOf takes a note apart.
func documentOf(words *splitter, n Note) document {
	d := document{note: n}
	d.note.Body = ""
	d.warns = isReference(n) && isWarning(n) // of others nobody asks
	found := make([]count, 0, 64+len(n.Body)/8)
	add := func(text string, f field) {
		words.split(prepare(text), func(t term) {
			c := count{term: hash(t.text)}
			switch f {
			case inName:
				c.name = 1
			case inDescription:
				c.description = 1
			default:
				c.body = 1
			}
			found = append(found, c)
			if !t.part {
				d.lengths[f]++
			}
		})
	}
	add(n.Name, inName)
	if stem := stemOf(n.Path); !strings.EqualFold(stem, n.Name) {
		add(stem, inName)
	}
	add(n.Description, inDescription)
	add(n.Body, inBody)
	d.terms = termsOf(together(found))
	return d
}

// stemOf is a file's name without folders and ending.
func stemOf(path string) string {
	path = path[strings.LastIndexByte(path, '/')+1:]
	return strings.ReplaceAll(strings.TrimSuffix(path, ".md"), "-", " ")
}
