package api

// Counts is what happened in some time.
type Counts struct {
	Versions  int64 `json:"versions"`
	Created   int64 `json:"created"` // entries
	Changed   int64 `json:"changed"`
	Deleted   int64 `json:"deleted"`
	Conflicts int64 `json:"conflicts"` // pushes refused because somebody was quicker
	Refused   int64 `json:"refused"`   // pushes refused by policy
	Held      int64 `json:"held"`      // entries held as proposals
	Bytes     int64 `json:"bytes"`     // of the texts that were written
}

// StatsPoint is what happened from a time on, for one step.
type StatsPoint struct {
	At Time `json:"at"`
	Counts
}

// RepoStats is what a repo holds, and what happened in it in the range.
type RepoStats struct {
	Repo           RepoSlug `json:"repo"`
	Entries        int      `json:"entries"`
	Bytes          int64    `json:"bytes"`
	Version        Version  `json:"version"`
	LastModified   Time     `json:"lastModified"`
	Proposals      int      `json:"proposals"`      // that wait
	OldestProposal *Time    `json:"oldestProposal"` // null: none waits
	Range          Counts   `json:"range"`
}

// Stats is what the repos that one may read hold now, and what happened in a range.
type Stats struct {
	Range          string       `json:"range"`
	StepSeconds    int          `json:"stepSeconds"`
	Entries        int          `json:"entries"`
	Bytes          int64        `json:"bytes"` // of live contents
	Versions       int64        `json:"versions"`
	People         int          `json:"people"`
	Clients        int          `json:"clients"`           // that are online
	Storage        int64        `json:"storage,omitempty"` // of all contents, packed; for admins, of the whole organization
	Proposals      int          `json:"proposals"`
	OldestProposal *Time        `json:"oldestProposal"`
	Total          Counts       `json:"total"`
	Points         []StatsPoint `json:"points"` // from old to new, none left out
	Repos          []RepoStats  `json:"repos"`  // by name, the first 500
}
