package main

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/state"
)

// judgeOf judges texts of a memory directory by the policy that its client last heard
// and by what was accepted here. It asks no server. A directory that was never synced
// has neither, and the defaults hold.
func judgeOf(t *target, dir string, rules guard.Rules) (*guard.Guard, error) {
	memory := guard.Defaults()
	if stateDir := t.paths.DirState(dir); dir != "" && stateDir != "" {
		if _, err := os.Stat(stateDir); err == nil {
			if memory, err = state.Open(stateDir); err != nil {
				return nil, err
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return guard.New(rules, memory, nil, time.Now), nil
}

// standingJudge is the judge of a server that lives long: the policy is read anew for
// each text, since a client beside it may have heard another, and the rules once.
type standingJudge struct {
	target *target
	dir    string
	mu     sync.Mutex // held while a text is judged
	rules  map[string]guard.Scanner
}

func newStandingJudge(t *target, dir string) *standingJudge {
	return &standingJudge{target: t, dir: dir, rules: map[string]guard.Scanner{}}
}

// Judge gives what is found in a text, with its verdicts.
func (j *standingJudge) Judge(key api.Key, content []byte) ([]guard.Judged, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	judge, err := judgeOf(j.target, j.dir, func(fingerprintKey []byte) (guard.Scanner, error) {
		if s := j.rules[string(fingerprintKey)]; s != nil {
			return s, nil
		}
		s, err := guard.ScanRules(fingerprintKey)
		if err == nil {
			j.rules[string(fingerprintKey)] = s
		}
		return s, err
	})
	if err != nil {
		return nil, err
	}
	return judge.Judge(key, content)
}
