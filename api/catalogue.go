package api

// EntryFacts is a live entry with what its head says, who last changed it, and how
// it is linked.
type EntryFacts struct {
	EntryInfo
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"` // user, feedback, project, reference, or empty
	User        string `json:"user"` // who last changed it
	Client      string `json:"client"`
	At          Time   `json:"at"`
	Index       bool   `json:"index"`    // it lists others
	Orphan      bool   `json:"orphan"`   // nothing leads to it
	Links       int    `json:"links"`    // out of it
	Dangling    int    `json:"dangling"` // of these, to nothing
	LinkedBy    int    `json:"linkedBy"` // entries that lead to it
	Reads       int64  `json:"reads"`    // how often its text was served, see docs/administration.md
}

// Catalogue is one page of entries, in key order.
type Catalogue struct {
	Entries    []EntryFacts `json:"entries"`
	Total      int          `json:"total"` // that the filters admit, on all pages
	NextCursor string       `json:"next_cursor,omitempty"`
}

// EntryLink leads from one entry to another.
type EntryLink struct {
	From   Key    `json:"from"`
	To     Key    `json:"to,omitempty"` // absent: it leads to nothing
	Target string `json:"target"`       // as it stands
	Line   int    `json:"line"`
	Wiki   bool   `json:"wiki"` // [[target]]
}

// EntryLinks is one entry, what it leads to, and what leads to it.
type EntryLinks struct {
	EntryFacts
	Out []EntryLink `json:"out"`
	In  []Key       `json:"in"`
}

// IndexFacts is what of an index an agent is told by itself.
type IndexFacts struct {
	Key         Key         `json:"key"`
	Lines       int         `json:"lines"`
	Bytes       int         `json:"bytes"`
	LoadedLines int         `json:"loadedLines"`
	LoadedBytes int         `json:"loadedBytes"`
	MaxLines    int         `json:"maxLines"`
	MaxBytes    int         `json:"maxBytes"`
	Warning     string      `json:"warning,omitempty"` // that an agent is given with it
	Outside     []EntryLink `json:"outside"`           // behind the cut
	Missing     []Key       `json:"missing"`           // entries that no index lists
}

// IndexReport is all indexes of a repo, the root's first, and what is wrong with links.
// Lists are cut at [MaxPage]; the totals count all.
type IndexReport struct {
	Indexes       []IndexFacts `json:"indexes"`
	Dangling      []EntryLink  `json:"dangling"`
	TotalDangling int          `json:"totalDangling"`
	Orphans       []Key        `json:"orphans"`
	TotalOrphans  int          `json:"totalOrphans"`
}

// BlameLine is a line of an entry and the change that it came with.
type BlameLine struct {
	Line    int     `json:"line"`
	Text    string  `json:"text"` // with its end
	Version Version `json:"version"`
	At      Time    `json:"at"`
	User    string  `json:"user"`
	Client  string  `json:"client"`
	// Older says that the line is of this version or an older one, which was not
	// looked at.
	Older bool `json:"older,omitempty"`
}

// Blame says who wrote each line of an entry as it stands.
type Blame struct {
	Key   Key         `json:"key"`
	Lines []BlameLine `json:"lines"`
}

// DiffHunk is a stretch of lines that changed, with three unchanged ones around.
type DiffHunk struct {
	Old   int        `json:"old"` // the lines at which it begins, from 1
	New   int        `json:"new"`
	Lines []DiffLine `json:"lines"`
}

// DiffLine is a line of both texts, or of the one in which it has a number.
type DiffLine struct {
	Old   int        `json:"old,omitempty"`
	New   int        `json:"new,omitempty"`
	Spans []DiffSpan `json:"spans"`
}

// DiffSpan is a part of a line; what two lines do not have in common is changed.
type DiffSpan struct {
	Text    string `json:"text"`
	Changed bool   `json:"changed,omitempty"`
}
