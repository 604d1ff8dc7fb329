package project

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/config"
)

// BR-01: two roots with one folder name are refused, with both named, and the first
// keeps what it has.
func TestTwoRootsWithOneSlugAreRefused(t *testing.T) {
	for _, pair := range [][2]string{{"甲乙/app", "丙丁/app"}, {"my_app", "my-app"}, {"my-app", "my.app"}} {
		root := place(t)
		r := NewRegistry(filepath.Join(root, "state", "projects"))
		var found [2]Project
		for n, name := range pair {
			dir := filepath.Join(root, filepath.FromSlash(name))
			mkdir(t, dir)
			p, err := Find(env(root), dir)
			if err != nil {
				t.Fatal(err)
			}
			found[n] = p
		}
		if found[0].TeamDir != found[1].TeamDir {
			t.Fatalf("%v do not share a folder", pair)
		}
		enrol := func(p Project) error {
			return r.Enrol(Enrolment{Root: p.Root, TeamDir: p.TeamDir, Server: "https://a.example", Repo: "acme/" + "app"})
		}
		if err := errors.Join(enrol(found[0]), enrol(found[0])); err != nil {
			t.Fatal(err)
		}
		err := enrol(found[1])
		var clash *ClashError
		if !errors.As(err, &clash) || !clash.Slug || !strings.Contains(err.Error(), found[0].Root) || !strings.Contains(err.Error(), found[1].Root) {
			t.Errorf("%v: %v", pair, err)
		}
		if e, ok, err := r.ByDir(found[1].TeamDir); !ok || err != nil || e.Root != found[0].Root {
			t.Errorf("%v: the first lost its directory: %+v, %v", pair, e, err)
		}
	}
}

func TestWhoMayTakeATeamDirectoryOver(t *testing.T) {
	root := place(t)
	here, there, moved := filepath.Join(root, "here"), filepath.Join(root, "there"), filepath.Join(root, "moved")
	mkdir(t, here)
	mkdir(t, there)
	team := filepath.Join(root, "team")
	first := Enrolment{TeamDir: team, Server: "https://a.example", Repo: "acme/app"}
	for _, c := range []struct {
		name      string
		had, asks string
		repo      api.RepoSlug
		refused   bool
	}{
		{"itself", here, here, "acme/app", false},
		{"another root", here, there, "acme/app", true},
		{"a root that moved", moved, there, "acme/app", false},
		{"another repo in place of a root that is gone", moved, there, "acme/other", true},
		{"a directory named without a project", here, "", "acme/app", false},
		{"a project for a directory named without one", "", here, "acme/app", false},
	} {
		r := NewRegistry(filepath.Join(root, "state", c.name))
		had, asks := first, first
		had.Root, asks.Root, asks.Repo = c.had, c.asks, c.repo
		if err := r.Enrol(had); err != nil {
			t.Fatal(err)
		}
		checked := r.Check(asks)
		err := r.Enrol(asks)
		var clash *ClashError
		if errors.As(err, &clash) != c.refused || (err != nil) != c.refused || (checked != nil) != c.refused {
			t.Errorf("%s: %v (check: %v)", c.name, err, checked)
		}
		if c.asks == "" {
			if e, _, _ := r.ByDir(team); e.Root != here {
				t.Errorf("%s: the root is now %q", c.name, e.Root)
			}
		}
	}
}

// A second clone of a repo is found before it joins.
func TestOtherClonesAreListed(t *testing.T) {
	root := place(t)
	r := NewRegistry(filepath.Join(root, "projects"))
	if all, err := r.Others("https://a.example", "acme/app", "/x"); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, e := range []Enrolment{
		{Root: "/one", TeamDir: filepath.Join(root, "one"), Server: "https://a.example", Repo: "acme/app", Since: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)},
		{Root: "/two", TeamDir: filepath.Join(root, "two"), Server: "https://a.example", Repo: "acme/app"},
		{Root: "/three", TeamDir: filepath.Join(root, "three"), Server: "https://b.example", Repo: "acme/app"},
		{Root: "/four", TeamDir: filepath.Join(root, "four"), Server: "https://a.example", Repo: "acme/other"},
	} {
		if err := r.Enrol(e); err != nil {
			t.Fatal(err)
		}
	}
	others, err := r.Others("https://a.example", "acme/app", filepath.Join(root, "two"))
	if err != nil || len(others) != 1 || others[0].Root != "/one" || others[0].Since.Hour() != 12 {
		t.Errorf("%+v, %v", others, err)
	}
	if err := errors.Join(r.Forget(filepath.Join(root, "one")), r.Forget(filepath.Join(root, "one"))); err != nil {
		t.Fatal(err)
	}
	if others, _ := r.Others("https://a.example", "acme/app", filepath.Join(root, "two")); len(others) != 0 {
		t.Errorf("forgotten, and listed: %+v", others)
	}
}

func TestOfTwoThatEnrolAtOnceOneWins(t *testing.T) {
	root := place(t)
	r := NewRegistry(filepath.Join(root, "projects"))
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for n := range errs {
		dir := filepath.Join(root, string(rune('a'+n)))
		mkdir(t, dir)
		wg.Go(func() {
			errs[n] = r.Enrol(Enrolment{Root: dir, TeamDir: filepath.Join(root, "team"), Server: "s", Repo: "acme/app"})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		var clash *ClashError
		if err == nil {
			won++
		} else if !errors.As(err, &clash) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d won", won)
	}
	if left, _ := filepath.Glob(filepath.Join(root, "projects", ".new-*")); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestADamagedEnrolmentIsReplaced(t *testing.T) {
	root := place(t)
	r := NewRegistry(filepath.Join(root, "projects"))
	e := Enrolment{Root: root, TeamDir: filepath.Join(root, "team"), Server: "s", Repo: "acme/app"}
	if err := r.Enrol(e); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(r.path(e.TeamDir), 3); err != nil {
		t.Fatal(err)
	}
	if all, err := r.All(); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := r.Enrol(e); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := r.ByDir(e.TeamDir); !ok || err != nil || got != e {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWithoutAPlaceNothingIsEnrolled(t *testing.T) {
	r := NewRegistry("")
	if err := r.Enrol(Enrolment{TeamDir: "/x"}); !errors.Is(err, config.ErrNoPlace) {
		t.Errorf("%v", err)
	}
	if all, err := r.All(); err != nil || all != nil {
		t.Errorf("%v, %v", all, err)
	}
}
