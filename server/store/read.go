package store

import "github.com/teammem/teammem/api"

// Reads is how often the text of an entry was served.
type Reads struct {
	Repo  RepoID
	Key   api.Key
	Count int64
}
