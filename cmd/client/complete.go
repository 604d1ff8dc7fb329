package main

import (
	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
)

// What the shell offers as arguments is read from this machine alone: a server that is
// slow or away must not hold up somebody who types.

// offers lists what an argument may be, from a directory's shelf.
type offers func(*shelf) ([]cobra.Completion, error)

// completing completes every argument of a command by what is on offer, and by no files:
// a key is no path from where one stands. What fails offers nothing.
func (a *app) completing(list offers) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if a.begin(cmd, args) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := a.shelf()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, err := list(s)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// syncedKeys are the keys that were last agreed on with the server.
func syncedKeys(s *shelf) (all []cobra.Completion, err error) {
	agreed, err := s.store.Load()
	if err != nil {
		return nil, err
	}
	for _, key := range api.SortedKeys(agreed.Entries) {
		all = append(all, string(key))
	}
	return all, nil
}

// keptItems are the texts in the keep, by id, since a key may have several.
func keptItems(s *shelf) (all []cobra.Completion, err error) {
	kept, err := s.store.Kept()
	for _, k := range kept {
		all = append(all, cobra.CompletionWithDesc(k.ID, string(k.Key)))
	}
	return all, err
}

func trashedItems(s *shelf) (all []cobra.Completion, err error) {
	trashed, err := s.store.Trashes()
	for _, t := range trashed {
		all = append(all, cobra.CompletionWithDesc(t.ID, string(t.Key)))
	}
	return all, err
}

// acceptedHere are the findings that are let through, as last heard.
func acceptedHere(s *shelf) (all []cobra.Completion, err error) {
	advice, err := s.store.Advice()
	if err != nil {
		return nil, err
	}
	for _, f := range advice.Accepted {
		all = append(all, cobra.CompletionWithDesc(f.Fingerprint, f.Rule))
	}
	policy, err := s.store.Policy()
	for _, f := range policy.Accepted {
		all = append(all, cobra.CompletionWithDesc(f.Fingerprint, f.Rule))
	}
	return all, err
}
