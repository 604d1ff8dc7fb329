package main

import (
	"fmt"
	"time"

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
	judge, err := judgeOf(t, t.dir, guard.ScanRules)
	if err != nil {
		judge = guard.New(guard.ScanRules, guard.Defaults(), nil, time.Now)
	}
	return judge.Judge
}
