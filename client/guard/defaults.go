package guard

import (
	"crypto/rand"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/state"
)

// Defaults is the memory of a directory that was never synced: no policy was heard for
// it, and nothing was accepted. Nothing is written.
func Defaults() Memory { return defaults{[]byte(rand.Text())} }

type defaults struct{ key []byte }

func (defaults) Policy() (api.OrgPolicy, error) { return api.OrgPolicy{}, nil }

func (defaults) SavePolicy(api.OrgPolicy) error { return nil }

func (d defaults) Advice() (state.Advice, error) { return state.Advice{Key: d.key}, nil }
