package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/syncer"
)

// unscannable is the rule of a file that could not be scanned.
const unscannable = syncer.RuleScanner

// eachFile calls look with every file that the arguments name, or that lies in the
// memory directory.
func (e *examiner) eachFile(args []string, report *scanReport, look func(name string, key api.Key, content []byte)) error {
	if len(args) == 0 {
		if _, err := os.Stat(e.dir); errors.Is(err, fs.ErrNotExist) {
			return nil // nothing was ever written there
		}
		return e.walk(e.dir, "", report, look)
	}
	for _, arg := range args {
		path, err := e.existing(arg)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return &usageError{err: err, hint: "name a file, a directory, or a key of the memory directory"}
		case info.IsDir():
			err = e.walk(path, arg, report, look)
		default:
			key := api.Key(filepath.Base(path))
			if path != arg {
				key = api.Key(filepath.ToSlash(arg))
			}
			e.lookAt(path, arg, key, report, look)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// existing is the path that an argument means: as it stands, or below the memory
// directory, as other commands name entries.
func (e *examiner) existing(arg string) (string, error) {
	path, err := e.env.Abs(arg)
	if err != nil {
		return "", asUsage(err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && filepath.IsLocal(arg) {
		if inside := filepath.Join(e.dir, arg); exists(inside) {
			return inside, nil
		}
	}
	return path, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// walk looks at the files below a directory, but for git's and our own. Links are not
// followed: what they lead to is never sent.
func (e *examiner) walk(dir, shownAs string, report *scanReport, look func(string, api.Key, []byte)) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		below, relErr := filepath.Rel(dir, path)
		if relErr != nil {
			return relErr
		}
		shown := filepath.Join(shownAs, below)
		switch {
		case err != nil && path == dir:
			return err
		case err != nil:
			report.Unread = append(report.Unread, unreadFile{File: shown, Error: plainError(err)})
			return nil
		case entry.IsDir() && path != dir && (entry.Name() == ".git" || entry.Name() == ".teammem"):
			return filepath.SkipDir
		case entry.Type().IsRegular():
			e.lookAt(path, shown, api.Key(filepath.ToSlash(below)), report, look)
		}
		return nil
	})
}

func (e *examiner) lookAt(path, shown string, key api.Key, report *scanReport, look func(string, api.Key, []byte)) {
	content, err := readFile(path)
	if err != nil {
		report.Unread = append(report.Unread, unreadFile{File: shown, Error: plainError(err)})
		return
	}
	look(shown, key, content)
}

// readFile reads a regular file, and one byte more than is scanned of a longer one.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	content := make([]byte, 0, min(info.Size(), scan.MaxBytes)+bytes.MinRead)
	buffer := bytes.NewBuffer(content)
	_, err = buffer.ReadFrom(io.LimitReader(file, scan.MaxBytes+1))
	return buffer.Bytes(), err
}

// plainError is the cause without the path, which is named beside it.
func plainError(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

// eachStaged calls look with what git has staged, of the paths named or of all.
func (e *examiner) eachStaged(ctx context.Context, paths []string, look func(name string, key api.Key, content []byte)) error {
	// Outside of a checkout, git diff compares files and does not know --cached.
	if _, err := e.git(ctx, "rev-parse", "--git-dir"); err != nil {
		return err
	}
	list := append([]string{"diff", "--cached", "--name-only", "--no-renames", "--diff-filter=ACMT", "--relative", "-z", "--"}, paths...)
	names, err := e.git(ctx, list...)
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		// A submodule is staged as a commit and has no text.
		kind, err := e.git(ctx, "cat-file", "-t", ":./"+name)
		if err != nil || strings.TrimSpace(string(kind)) != "blob" {
			continue
		}
		content, err := e.git(ctx, "cat-file", "blob", ":./"+name)
		if err != nil {
			return err
		}
		look(name, api.Key(name), content)
	}
	return nil
}

func (e *examiner) git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = e.env.Dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return nil, &usageError{err: fmt.Errorf("git %s: %s", args[0], firstLine(exit.Stderr)), hint: "--staged is for a git checkout"}
	case err != nil:
		return nil, fmt.Errorf("git: %w", err)
	}
	return out, nil
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	return string(line)
}

// textFindings leaves out of a file that is no text what only a text can hide.
func textFindings(judged []guard.Judged, content []byte) []guard.Judged {
	if utf8.Valid(content) && bytes.IndexByte(content, 0) < 0 {
		return judged
	}
	return slices.DeleteFunc(slices.Clone(judged), func(j guard.Judged) bool {
		return !j.IsSecret()
	})
}

// nameWithout is the name of a file as it can be shown: a secret in it is cut off.
func nameWithout(name string, judged []guard.Judged) string {
	if slices.ContainsFunc(judged, func(j guard.Judged) bool { return j.Line == 0 && j.Class == api.ClassSecret }) {
		return guard.Cut(name)
	}
	return name
}
