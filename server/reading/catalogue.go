package reading

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// Catalogue is what a repo's live entries say of themselves and of each other. It is
// shared by those who ask: nobody may change it.
type Catalogue struct {
	Head    store.Head
	Entries []*Entry // in key order
	// Indexes are the entries that list others, the root's first.
	Indexes []*Index

	byKey map[api.Key]*Entry
}

// Entry is one live entry.
type Entry struct {
	store.Row
	Head     memory.Head // what its front matter says; Head.Modified is the stamp there, Row's is the file's time
	User     string      // who last changed it, as named now
	Client   string      // from where
	At       time.Time   // when
	Index    bool        // it lists others
	Links    []Link      // out of it, in the order in which they stand
	LinkedBy []api.Key   // in key order, each once
	Orphan   bool        // there is an index, and neither it nor any entry leads here
	Cut      *memory.Cut // of an index: what of it an agent is told, without the text
}

// Link leads out of an entry.
type Link struct {
	Target  string // as it stands
	To      api.Key
	Line    int
	Wiki    bool // [[target]]
	Listed  bool // an entry of an index
	Dangles bool // there is no such entry
}

// Index is an entry that lists others, as an agent is told it.
type Index struct {
	Entry *Entry
	Cut   memory.Cut // with the text that is loaded
	// Outside are its links behind the cut: no agent is told of these entries by it.
	Outside []Link
	// Missing are the entries below its folder that no index lists.
	Missing []api.Key
}

// Get finds an entry; nil when there is none.
func (c *Catalogue) Get(key api.Key) *Entry { return c.byKey[key] }

// Dangling are the links that lead nowhere, by the entry that holds them.
func (c *Catalogue) Dangling() map[api.Key][]Link {
	all := map[api.Key][]Link{}
	for _, e := range c.Entries {
		for _, l := range e.Links {
			if l.Dangles {
				all[e.Key] = append(all[e.Key], l)
			}
		}
	}
	return all
}

// Orphans are the entries that nothing leads to.
func (c *Catalogue) Orphans() (keys []api.Key) {
	for _, e := range c.Entries {
		if e.Orphan {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// Filter narrows a list of entries. What is empty narrows nothing.
type Filter struct {
	Type   string // a type, or "none"
	Author string
	Prefix string    // of the key
	After  time.Time // last changed then or later
	Before time.Time // last changed before
}

// Admits reports whether an entry is one of those asked for.
func (f Filter) Admits(e *Entry) bool {
	named := string(e.Head.Type)
	if e.Head.Type == memory.None {
		named = "none"
	}
	return (f.Type == "" || f.Type == named) && (f.Author == "" || f.Author == e.User) && strings.HasPrefix(string(e.Key), f.Prefix) &&
		(f.After.IsZero() || !e.At.Before(f.After)) && (f.Before.IsZero() || e.At.Before(f.Before))
}

// Catalogue reads a repo's. The error is that of [ledger.Ledger.View].
func (d *Desk) Catalogue(ctx context.Context, caller ledger.Caller, repo api.RepoSlug) (*Catalogue, error) {
	head, err := d.ledger.Head(ctx, caller, repo)
	if err != nil {
		return nil, err
	}
	if c, ok := d.whole.get(wholeRef{caller.Org, repo, head.Version, head.Checksum}); ok && head.Proposals == 0 {
		return c, nil
	}
	view, err := d.ledger.View(ctx, caller, repo, 0)
	if err != nil {
		return nil, err
	}
	authors, err := d.ledger.Authors(ctx, caller, repo)
	if err != nil {
		return nil, err
	}
	texts, err := d.read(ctx, caller, view.Live)
	if err != nil {
		return nil, err
	}
	c := catalogueOf(view, authors, texts)
	if view.Head.Proposals == 0 {
		d.whole.put(wholeRef{caller.Org, repo, view.Head.Version, view.Head.Checksum}, c)
	}
	return c, nil
}

// said is what one text says, wherever it stands.
type said struct {
	head  memory.Head
	wiki  []memory.Wiki
	links []memory.Link
	cut   memory.Cut
}

// mostLinks bounds what is remembered of one text; a real index has a few hundred.
const mostLinks = 2000

func read(content []byte) *said {
	s := &said{head: memory.Parse(content), wiki: memory.WikiLinks(content), links: memory.Links(content)}
	s.wiki, s.links = s.wiki[:min(len(s.wiki), mostLinks)], s.links[:min(len(s.links), mostLinks)]
	return s
}

// read reads the texts of rows that were not read lately. An index is read as one
// too, so that its text is kept as far as an agent is told it.
func (d *Desk) read(ctx context.Context, caller ledger.Caller, rows []store.Row) (map[api.Key]*said, error) {
	texts := make(map[api.Key]*said, len(rows))
	var unknown []store.Row
	for _, row := range rows {
		if s, ok := d.texts.get(textRef{caller.Org, row.Checksum}); ok && !row.Key.IsIndex() {
			texts[row.Key] = s
			continue
		}
		unknown = append(unknown, row)
	}
	err := d.ledger.Bodies(ctx, caller, unknown, func(row store.Row, content []byte) error {
		s := read(content)
		if row.Key.IsIndex() {
			s.cut = memory.CutIndex(content)
		} else {
			d.texts.put(textRef{caller.Org, row.Checksum}, s)
		}
		texts[row.Key] = s
		return ctx.Err()
	})
	return texts, err
}

// catalogueOf puts together what the rows, their authors and their texts say.
func catalogueOf(view ledger.View, authors map[api.Key]store.Authored, texts map[api.Key]*said) *Catalogue {
	c := &Catalogue{Head: view.Head, byKey: make(map[api.Key]*Entry, len(view.Live))}
	var topics []memory.Memory
	for _, row := range view.Live {
		s, a := texts[row.Key], authors[row.Key]
		e := &Entry{Row: row, Head: s.head, User: a.UserName, Client: a.Client, At: a.At, Index: row.Key.IsIndex()}
		c.Entries, c.byKey[row.Key] = append(c.Entries, e), e
		if e.Index {
			cut := s.cut
			cut.Text = ""
			e.Cut = &cut
			c.Indexes = append(c.Indexes, &Index{Entry: e, Cut: s.cut})
		} else {
			topics = append(topics, memory.Memory{Key: row.Key, Head: s.head})
		}
	}
	names := memory.NewNames(topics)
	linked := map[api.Key]map[api.Key]bool{}
	for _, e := range c.Entries {
		e.Links = c.linksOf(e, texts[e.Key], names)
		for _, l := range e.Links {
			if l.To != "" && l.To != e.Key {
				if linked[l.To] == nil {
					linked[l.To] = map[api.Key]bool{}
				}
				linked[l.To][e.Key] = true
			}
		}
	}
	for _, e := range c.Entries {
		e.LinkedBy = sortedKeys(linked[e.Key])
		e.Orphan = len(c.Indexes) > 0 && !e.Index && len(e.LinkedBy) == 0 && strings.HasSuffix(string(e.Key), ".md")
	}
	c.fillIndexes()
	return c
}

func sortedKeys(set map[api.Key]bool) []api.Key {
	keys := make([]api.Key, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// linksOf resolves what leads out of an entry, as client memory lint does. What leads
// outside of the repo is not its business.
func (c *Catalogue) linksOf(e *Entry, s *said, names memory.Names) (all []Link) {
	folder := path.Dir(string(e.Key))
	for _, l := range s.links {
		at := l.Path(folder)
		there := c.byKey[api.Key(at)] != nil
		if at == "" || !there && (!strings.HasSuffix(at, ".md") && !l.Entry || l.Bare && strings.Contains(l.Target, "/")) {
			continue
		}
		link := Link{Target: l.Target, Line: l.Line, Listed: e.Index && l.Entry, Dangles: !there}
		if there {
			link.To = api.Key(at)
		}
		all = append(all, link)
	}
	for _, w := range s.wiki {
		link := Link{Target: w.Target, Line: w.Line, Wiki: true}
		if to, _, ok := names.Resolve(w.Target, e.Key); ok {
			link.To = to
		} else if at := api.Key(path.Join(folder, w.Target)); c.byKey[at] != nil {
			link.To = at
		} else {
			link.Dangles = true
		}
		all = append(all, link)
	}
	slices.SortStableFunc(all, func(a, b Link) int { return a.Line - b.Line })
	return all
}

// fillIndexes finds what each index does not tell, and puts the root's first.
func (c *Catalogue) fillIndexes() {
	listed := map[api.Key]bool{}
	for _, x := range c.Indexes {
		for _, l := range x.Entry.Links {
			listed[l.To] = true
			if x.Cut.Over() && l.Line > x.Cut.Kept {
				x.Outside = append(x.Outside, l)
			}
		}
	}
	for _, x := range c.Indexes {
		folder := strings.TrimSuffix(string(x.Entry.Key), string(api.IndexKey))
		for _, e := range c.Entries {
			if !e.Index && !listed[e.Key] && strings.HasPrefix(string(e.Key), folder) && strings.HasSuffix(string(e.Key), ".md") {
				x.Missing = append(x.Missing, e.Key)
			}
		}
	}
	slices.SortStableFunc(c.Indexes, func(a, b *Index) int {
		return strings.Count(string(a.Entry.Key), "/") - strings.Count(string(b.Entry.Key), "/")
	})
}
