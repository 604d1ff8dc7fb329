package main

import (
	"fmt"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
)

// askable holds back a request about a name that holds a secret: the name would stand
// in the address or the body, and in the log of every proxy on the way.
func (t *target) askable(key api.Key) error {
	shown, why := guard.Name(t.judgeOfNames(), string(key))
	if why == nil {
		return nil
	}
	return &usageError{
		err:  fmt.Errorf("the name %s holds a secret (%s), and the server was not asked", shown, why.Rule),
		hint: "rename the file; client secrets shows it",
	}
}

// judgeOfNames judges by what is known of the organization's policy, or where nothing
// can be kept by the defaults.
func (t *target) judgeOfNames() guard.Judge {
	if t.dir != "" {
		if e, err := examinerOf(t, t.dir); err == nil {
			return e.guard.Judge
		}
	}
	return func(key api.Key, content []byte) (judged []guard.Judged, err error) {
		scanner, err := guard.ScanRules(nil)
		if err != nil {
			return nil, err
		}
		found, err := scanner.Scan(key, content)
		for _, f := range found {
			judged = append(judged, guard.Judged{Finding: f, Verdict: api.DefaultVerdict(f.Class)})
		}
		return judged, err
	}
}
