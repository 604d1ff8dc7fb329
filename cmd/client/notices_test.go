package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

// expiring makes a token that ends: expiring USER TIME FILE.
func expiring(ts *testscript.TestScript, box *servertest.Server, args []string) {
	left, err := time.ParseDuration(args[1])
	ts.Check(err)
	token := box.TokenUntil(organizationOf(ts.Getenv("WORK")), args[0], api.Member, time.Now().Add(left))
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(token+"\n"), 0o600))
}

// rename gives a repo another name, as an admin: rename FROM TO.
func rename(ts *testscript.TestScript, box *servertest.Server, args []string) {
	admin := box.TokenOf(organizationOf(ts.Getenv("WORK")), "root", api.Admin)
	req, err := http.NewRequest(http.MethodPut, box.URL+api.PathRepoNames+"?repo="+args[0], strings.NewReader(fmt.Sprintf(`{"to":%q}`, args[1])))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+admin)
	resp, err := box.Client().Do(req)
	ts.Check(err)
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
		ts.Fatalf("rename %s: status %d", args[0], resp.StatusCode)
	}
}
